// Node's own fetch, which knows proxies from release 22.21 on, when
// NODE_USE_ENV_PROXY=1.
import { answer, failure } from './answer.mjs';

for (const url of process.argv.slice(2)) {
  try {
    const r = await fetch(url);
    answer(url, r.status, r.statusText, r.headers, await r.arrayBuffer());
  } catch (e) {
    failure(url, e);
  }
}
