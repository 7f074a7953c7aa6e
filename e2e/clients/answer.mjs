// What every Node client here prints: see ../doc.go, "Answers".

export function answer(url, status, reason, fields, body) {
  const out = [`url ${url}`, `status ${status}`, `reason ${reason}`];
  for (const [name, value] of fields) out.push(`field ${name}: ${value}`);
  out.push(`body ${Buffer.from(body).toString('base64')}`, 'end');
  console.log(out.join('\n'));
}

export function failure(url, error) {
  const causes = [];
  for (let e = error; e; e = e.cause) causes.push(e.message || String(e));
  console.log([`url ${url}`, `error ${causes.join(': ').replace(/\s+/g, ' ')}`, 'end'].join('\n'));
}
