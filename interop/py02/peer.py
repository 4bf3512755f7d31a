"""A peer made with the official Python SDK for v0.2: an agent and a client (see py/line.py)."""

import sys
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parent.parent / 'py'))

import grpc
import httpx
from a2a.client import A2ACardResolver, A2AClient, A2AGrpcClient
from a2a.grpc import a2a_pb2_grpc
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import (
    AgentInterface, CancelTaskRequest, GetTaskPushNotificationConfigParams, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    SendMessageRequest, SendStreamingMessageRequest, SetTaskPushNotificationConfigRequest, TaskIdParams, TaskQueryParams,
)

import line
from mid import Obedient, card, event, from_card, from_push, params, to_push


async def serve(binding, trait):
    listener, base = line.listen()
    more = {'url': base}
    rpc = grpc.aio.server()
    if binding == 'GRPC':
        at = '127.0.0.1:%d' % rpc.add_insecure_port('127.0.0.1:0')
        more = {'url': at, 'preferred_transport': 'GRPC'}
    about = card(trait, '0.2.6', name='Python SDK v0.2', supports_authenticated_extended_card=True, **more)
    extended = about.model_copy(update={'name': about.name + ', extended'})
    hooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(Obedient(), InMemoryTaskStore(), push_config_store=hooks,
                                    push_sender=BasePushNotificationSender(httpx.AsyncClient(), hooks))
    if binding == 'GRPC':
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(extended, handler), rpc)
        await rpc.start()
    line.ready(base)
    await line.serve_http(A2AStarletteApplication(agent_card=about, http_handler=handler, extended_agent_card=extended).build(), listener)


class Refused(Exception):
    def __init__(self, e):
        super().__init__(e.message)
        self.code = e.code


def result(response):
    r = response.root
    if getattr(r, 'error', None):
        raise Refused(r.error)
    return r.result


class Client:
    """Over JSON-RPC. This SDK has no resubscribe, and no lists of push configurations."""

    def __init__(self, about, c):
        self.about, self.c = about, c

    async def card(self):
        return from_card(self.about)

    async def send(self, m):
        return event(result(await self.c.send_message(SendMessageRequest(id=str(uuid4()), params=params(m)))))

    async def stream(self, m):
        async for r in self.c.send_message_streaming(SendStreamingMessageRequest(id=str(uuid4()), params=params(m))):
            yield event(result(r))

    async def get(self, task, history):
        return event(result(await self.c.get_task(GetTaskRequest(id=str(uuid4()), params=TaskQueryParams(id=task, history_length=history)))))

    async def cancel(self, task):
        return event(result(await self.c.cancel_task(CancelTaskRequest(id=str(uuid4()), params=TaskIdParams(id=task)))))

    async def push_set(self, p):
        return from_push(result(await self.c.set_task_callback(SetTaskPushNotificationConfigRequest(id=str(uuid4()), params=to_push(p)))))

    async def push_get(self, task, config):
        q = GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=config)
        return from_push(result(await self.c.get_task_callback(GetTaskPushNotificationConfigRequest(id=str(uuid4()), params=q))))


class GrpcClient(Client):
    async def send(self, m):
        return event(await self.c.send_message(params(m)))

    async def stream(self, m):
        async for e in self.c.send_message_streaming(params(m)):
            yield event(e)

    async def get(self, task, history):
        return event(await self.c.get_task(TaskQueryParams(id=task, history_length=history)))

    async def cancel(self, task):
        return event(await self.c.cancel_task(TaskIdParams(id=task)))

    async def push_set(self, p):
        return from_push(await self.c.set_task_callback(to_push(p)))

    async def push_get(self, task, config):
        return from_push(await self.c.get_task_callback(GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=config)))


async def dial(d):
    headers = {'Authorization': 'Bearer ' + d['token']} if d.get('token') else {}
    http = httpx.AsyncClient(headers=headers, timeout=60)
    about = await A2ACardResolver(http, d['url']).get_agent_card()
    if d['binding'] == 'JSONRPC':
        return Client(about, A2AClient(http, about))
    offered = [AgentInterface(transport=about.preferred_transport or 'JSONRPC', url=about.url)] + (about.additional_interfaces or [])
    at = next((i.url for i in offered if i.transport == 'GRPC'), None)
    if at is None:
        raise ValueError('the card offers no GRPC')
    return GrpcClient(about, A2AGrpcClient(a2a_pb2_grpc.A2AServiceStub(line.channel(d.get('token'))(at)), about))


def kind(e):
    if isinstance(e, grpc.aio.AioRpcError):
        for name, found in (
            ('TaskNotFoundError', 'task-not-found'), ('TaskNotCancelableError', 'task-not-cancelable'),
            ('UnsupportedOperationError', 'unsupported-operation'), ('InvalidParamsError', 'invalid-params'),
        ):
            if name in (e.details() or ''):
                return found
        return {grpc.StatusCode.NOT_FOUND: 'task-not-found', grpc.StatusCode.INVALID_ARGUMENT: 'invalid-params',
                grpc.StatusCode.FAILED_PRECONDITION: 'task-not-cancelable'}.get(e.code(), '')
    return line.CODES.get(getattr(e, 'code', None), '')


line.main(serve, dial, kind)
