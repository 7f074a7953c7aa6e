// axios.get, which throws for a 403 with the answer in the error.
import { createRequire } from 'node:module';
import { answer, failure } from './answer.mjs';

const require = createRequire(new URL('../node/', import.meta.url));
const axios = require('axios');

if (process.argv[2] === '--version') {
  console.log(require('axios/package.json').version);
  process.exit();
}
for (const url of process.argv.slice(2)) {
  const show = (r) => answer(url, r.status, r.statusText, Object.entries(r.headers), r.data);
  try {
    show(await axios.get(url, { responseType: 'arraybuffer', timeout: 30000 }));
  } catch (e) {
    if (e.response) show(e.response);
    else failure(url, e);
  }
}
