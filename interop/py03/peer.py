"""A peer made with the official Python SDK for v0.3: an agent and a client (see py/line.py)."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / 'py'))

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.grpc import a2a_pb2_grpc
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import (
    DeleteTaskPushNotificationConfigParams, GetTaskPushNotificationConfigParams, ListTaskPushNotificationConfigParams, TaskIdParams,
    TaskQueryParams,
)

import line
from mid import Obedient, card, event, from_card, from_push, params, to_push


async def serve(binding, trait):
    listener, base = line.listen()
    at = base
    rpc = grpc.aio.server()
    if binding == 'GRPC':
        at = '127.0.0.1:%d' % rpc.add_insecure_port('127.0.0.1:0')
    about = card(trait, '0.3.0', name='Python SDK v0.3', url=at, preferred_transport=binding, supports_authenticated_extended_card=True)
    extended = about.model_copy(update={'name': about.name + ', extended'})
    hooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(Obedient(), InMemoryTaskStore(), push_config_store=hooks,
                                    push_sender=BasePushNotificationSender(httpx.AsyncClient(), hooks))
    app = A2ARESTFastAPIApplication if binding == 'HTTP+JSON' else A2AStarletteApplication
    if binding == 'GRPC':
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(extended, handler), rpc)
        await rpc.start()
    line.ready(base)
    await line.serve_http(app(agent_card=about, http_handler=handler, extended_agent_card=extended).build(), listener)


class Client:
    def __init__(self, about, transport):
        self.about, self.t = about, transport

    async def card(self):
        return from_card(self.about)

    async def extended(self):
        return from_card(await self.t.get_card())

    async def send(self, m):
        return event(await self.t.send_message(params(m)))

    async def stream(self, m):
        async for e in self.t.send_message_streaming(params(m)):
            yield event(e)

    async def subscribe(self, task):
        async for e in self.t.resubscribe(TaskIdParams(id=task)):
            yield event(e)

    async def get(self, task, history):
        return event(await self.t.get_task(TaskQueryParams(id=task, history_length=history)))

    async def cancel(self, task):
        return event(await self.t.cancel_task(TaskIdParams(id=task)))

    async def push_set(self, p):
        return from_push(await self.t.set_task_callback(to_push(p)))

    async def push_get(self, task, config):
        return from_push(await self.t.get_task_callback(GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=config)))


async def dial(d):
    headers = {'Authorization': 'Bearer ' + d['token']} if d.get('token') else {}
    http = httpx.AsyncClient(headers=headers, timeout=60)
    about = await A2ACardResolver(http, d['url']).get_agent_card()
    config = ClientConfig(
        httpx_client=http, grpc_channel_factory=line.channel(d.get('token')), supported_transports=[d['binding']],
        use_client_preference=True, extensions=d.get('extensions') or [])
    return Client(about, ClientFactory(config).create(about)._transport)


def kind(e):
    root = getattr(e, 'error', None)
    code = getattr(getattr(root, 'root', root), 'code', None) or getattr(root, 'code', None)
    if code in line.CODES:
        return line.CODES[code]
    words = str(e)
    for name, found in (
        ('TaskNotFoundError', 'task-not-found'), ('TaskNotCancelableError', 'task-not-cancelable'),
        ('PushNotificationNotSupportedError', 'push-not-supported'), ('UnsupportedOperationError', 'unsupported-operation'),
        ('InvalidParamsError', 'invalid-params'), ('InvalidRequestError', 'invalid-request'),
    ):
        if name in words:
            return found
    if isinstance(e, grpc.aio.AioRpcError):
        return {grpc.StatusCode.NOT_FOUND: 'task-not-found', grpc.StatusCode.INVALID_ARGUMENT: 'invalid-params',
                grpc.StatusCode.FAILED_PRECONDITION: 'task-not-cancelable'}.get(e.code(), '')
    if m := re.match(r'HTTP Error (\d+)', words):  # over HTTP+JSON this SDK shows no more than the status
        return {'404': 'task-not-found', '409': 'task-not-cancelable', '422': 'invalid-params', '415': 'content-type', '400': 'invalid-request'}.get(m[1], '')
    return ''


line.main(serve, dial, kind)
