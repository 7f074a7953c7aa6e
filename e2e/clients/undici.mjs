// The undici package's fetch, through its EnvHttpProxyAgent.
import { createRequire } from 'node:module';
import { answer, failure } from './answer.mjs';

const require = createRequire(new URL('../node/', import.meta.url));
const { EnvHttpProxyAgent, fetch, setGlobalDispatcher } = require('undici');

if (process.argv[2] === '--version') {
  console.log(require('undici/package.json').version);
  process.exit();
}
setGlobalDispatcher(new EnvHttpProxyAgent());
for (const url of process.argv.slice(2)) {
  try {
    const r = await fetch(url);
    answer(url, r.status, r.statusText, r.headers, await r.arrayBuffer());
  } catch (e) {
    failure(url, e);
  }
}
