// Node's http.get and https.get.
import http from 'node:http';
import https from 'node:https';
import { answer, failure } from './answer.mjs';

function get(url) {
  return new Promise((done) => {
    const module = url.startsWith('https:') ? https : http;
    module.get(url, (r) => {
      const parts = [];
      r.on('data', (part) => parts.push(part));
      r.on('error', (e) => { failure(url, e); done(); });
      r.on('end', () => {
        answer(url, r.statusCode, r.statusMessage, Object.entries(r.headers), Buffer.concat(parts));
        done();
      });
    }).on('error', (e) => { failure(url, e); done(); });
  });
}

for (const url of process.argv.slice(2)) await get(url);
