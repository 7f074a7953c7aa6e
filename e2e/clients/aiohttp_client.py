"""aiohttp, which reads the proxy variables only when told trust_env=True."""

import asyncio
import sys

import aiohttp

from answer import answer, failure, version_asked


async def main(urls):
    limit = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(trust_env=True, timeout=limit) as session:
        for url in urls:
            try:
                async with session.get(url) as r:
                    answer(url, r.status, r.reason, r.headers.items(), await r.read())
            except aiohttp.ClientHttpProxyError as e:
                fields = e.headers.items() if e.headers else []
                answer(url, e.status, e.message, fields, b"")
            except (aiohttp.ClientError, asyncio.TimeoutError) as e:
                failure(url, e)


if not version_asked(aiohttp.__version__):
    asyncio.run(main(sys.argv[1:]))
