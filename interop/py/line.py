"""The client side of the line protocol (see the Go package interop/peer), for SDKs in Python.

A peer's program calls main(serve, dial, kind):

    serve(binding, trait) serves the agent, which is like what the trait says, until it is ended; calls ready(url) once it does
    dial(d)          returns a client: an object with the coroutines card, send, get, cancel, list, push_set, push_get,
                     push_list, push_delete and extended, and the async generators stream and subscribe; one that the
                     SDK does not have is missing
    kind(error)      the protocol error in words, '' for any other
"""

import asyncio
import json
import logging
import sys
from pathlib import Path

import grpc

EXTENSION = 'urn:parley:interop:extension'
TENANT = 'acme'


def security(version):
    """What a declaring agent declares of security: the members that a card of a version has for it."""
    return json.loads((Path(__file__).parent.parent / 'peer' / 'security' / f'v{version}.json').read_text())


CODES = {
    -32001: 'task-not-found', -32002: 'task-not-cancelable', -32003: 'push-not-supported', -32004: 'unsupported-operation',
    -32005: 'content-type', -32007: 'extended-card-not-configured', -32600: 'invalid-request', -32601: 'method-not-found',
    -32602: 'invalid-params',
}


class NotOffered(Exception):
    """This SDK has no such operation."""


def ready(url):
    print('ready', url, flush=True)


def say(**answer):
    print(json.dumps(answer), flush=True)


class Conductor:
    def __init__(self, dial, kind):
        self.dial, self.kind = dial, kind
        self.clients, self.running = {}, {}

    async def run(self):
        reader = asyncio.StreamReader(limit=1 << 24)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            r = json.loads(line)
            if r['do'] == 'leave':
                if task := self.running.get(r['at']):
                    task.cancel()
                say(n=r['n'])
                continue
            self.running[r['n']] = asyncio.create_task(self.answer(r))

    async def answer(self, r):
        n = r['n']
        try:
            say(n=n, **(await asyncio.wait_for(self.do(r), 60) or {}))
        except NotOffered:
            say(n=n, none=True)
        except asyncio.CancelledError:
            say(n=n)
        except Exception as e:  # noqa: BLE001
            say(n=n, error=f'{type(e).__name__}: {e}', kind=self.kind(e))
        finally:
            self.running.pop(n, None)

    async def do(self, r):
        verb = r['do']
        if verb == 'dial':
            self.clients[r['n']] = await self.dial(r['dial'])
            return {}
        client = self.clients[r['at']]
        method = getattr(client, verb.replace('-', '_'), None)
        if method is None:
            raise NotOffered
        if verb in ('stream', 'subscribe'):
            async for event in method(r['message'] if verb == 'stream' else r['task']):
                say(n=r['n'], more=True, event=event)
            return {}
        if verb in ('card', 'extended'):
            return {'card': await method()}
        if verb == 'send':
            return {'event': await method(r['message'])}
        if verb == 'get':
            return {'event': await method(r['task'], r.get('history'))}
        if verb == 'cancel':
            return {'event': await method(r['task'])}
        if verb == 'list':
            tasks, after = await method(r.get('context', ''), r['size'], r.get('token', ''))
            return {'tasks': tasks, 'next': after}
        if verb == 'push-set':
            return {'push': await method(r['push'])}
        if verb == 'push-get':
            return {'push': await method(r['task'], r.get('id', ''))}
        if verb == 'push-list':
            return {'pushes': await method(r['task'])}
        return await method(r['task'], r.get('id', ''))


def main(serve, dial, kind):
    logging.disable(logging.CRITICAL)
    if sys.argv[1] == 'serve':
        asyncio.run(serve(sys.argv[2], ''.join(sys.argv[3:])))
    else:
        asyncio.run(Conductor(dial, kind).run())


class _Metadata(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, metadata):
        self.metadata = metadata

    def _with(self, details):
        return details._replace(metadata=grpc.aio.Metadata(*(details.metadata or ()), *self.metadata))

    async def intercept_unary_unary(self, go_on, details, request):
        return await go_on(self._with(details), request)


def channel(token):
    """Returns a factory of channels whose calls carry a bearer token."""
    metadata = [('authorization', f'Bearer {token}')] if token else []

    class Unary(_Metadata):
        pass

    class Stream(grpc.aio.UnaryStreamClientInterceptor):
        async def intercept_unary_stream(self, go_on, details, request):
            return await go_on(Unary(metadata)._with(details), request)

    return lambda url: grpc.aio.insecure_channel(url, interceptors=[Unary(metadata), Stream()])


async def serve_http(app, listener):
    """Serves an ASGI application on a socket that is bound."""
    import uvicorn
    server = uvicorn.Server(uvicorn.Config(app, log_level='critical', timeout_graceful_shutdown=1))
    await server.serve(sockets=[listener])


def listen():
    """Returns a socket bound to a free loopback port, and its address."""
    import socket
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('127.0.0.1', 0))
    s.listen(100)
    return s, 'http://127.0.0.1:%d/' % s.getsockname()[1]
