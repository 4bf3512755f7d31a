"""A peer made with the official Python SDK for v1.0: an agent and a client (see py/line.py)."""

import asyncio
import base64
import sys
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parent.parent / 'py'))

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc
from a2a.utils import errors
from google.protobuf import json_format, struct_pb2
from starlette.applications import Starlette

import line

S = pb.TaskState


def text(s):
    return pb.Part(text=s)


class Obedient(AgentExecutor):
    """Obeys the first word of a message, as the harness's own agent does."""

    async def execute(self, context, queue):
        said = context.message.parts[0].text
        word, _, rest = said.partition(' ')
        ids = {'task_id': context.task_id, 'context_id': context.context_id}

        def message(s, **more):
            return pb.Message(role=pb.Role.ROLE_AGENT, message_id=str(uuid4()), parts=[text(s)], context_id=context.context_id, **more)

        def stamp(state, words=''):
            status = pb.TaskStatus(state=state, message=message(words, task_id=context.task_id) if words else None)
            status.timestamp.GetCurrentTime()
            return status

        async def status(state, words=''):
            await queue.enqueue_event(pb.TaskStatusUpdateEvent(status=stamp(state, words), **ids))

        async def chunk(name, more, last, *parts):
            await queue.enqueue_event(pb.TaskArtifactUpdateEvent(
                artifact=pb.Artifact(artifact_id=name, name=name, parts=parts), append=more, last_chunk=last, **ids))

        async def finish(*parts):
            await chunk('result', False, True, *parts)
            await status(S.TASK_STATE_COMPLETED)

        task = context.current_task
        if task and task.status.state in (S.TASK_STATE_INPUT_REQUIRED, S.TASK_STATE_AUTH_REQUIRED):
            return await finish(text('You said ' + said))
        if word == 'echo':
            return await queue.enqueue_event(message(rest))
        await queue.enqueue_event(pb.Task(
            id=context.task_id, context_id=context.context_id, history=[context.message], status=stamp(S.TASK_STATE_SUBMITTED)))
        if word == 'task':
            await finish(text(rest))
        elif word == 'parts':
            await finish(*context.message.parts[1:])
        elif word == 'metadata':
            data = struct_pb2.Value()
            data.struct_value.CopyFrom(context.message.metadata)
            await finish(pb.Part(data=data))
        elif word == 'refer':
            await finish(text(' '.join(context.message.reference_task_ids)))
        elif word == 'tenant':
            await finish(text(context.tenant))
        elif word == 'extensions':
            await finish(text(' '.join(context.requested_extensions)))
        elif word == 'artifacts':
            await chunk('first', False, False, text('one '))
            await chunk('first', True, True, text('two '))
            await chunk('second', False, False, text('draft'))
            await chunk('second', False, True, text('final'))
            await status(S.TASK_STATE_COMPLETED)
        elif word == 'stream':
            await status(S.TASK_STATE_WORKING)
            for i in range(20):
                await chunk('text', i > 0, i == 19, text(f'chunk {i} 東;'))
                await asyncio.sleep(0.02)
            await status(S.TASK_STATE_COMPLETED)
        elif word == 'ask':
            await status(S.TASK_STATE_INPUT_REQUIRED, 'Which colour?')
        elif word == 'auth':
            await status(S.TASK_STATE_AUTH_REQUIRED, 'Sign in first.')
        elif word == 'slow':
            await status(S.TASK_STATE_WORKING)
            await asyncio.sleep(60)
        else:
            await status(S.TASK_STATE_FAILED, 'I do not know ' + word)

    async def cancel(self, context, queue):
        status = pb.TaskStatus(state=S.TASK_STATE_CANCELED)
        status.timestamp.GetCurrentTime()
        await queue.enqueue_event(pb.TaskStatusUpdateEvent(task_id=context.task_id, context_id=context.context_id, status=status))


async def serve(binding, trait):
    listener, base = line.listen()
    at = base[:-1] if binding == 'HTTP+JSON' else base
    rpc = grpc.aio.server()
    if binding == 'GRPC':
        at = '127.0.0.1:%d' % rpc.add_insecure_port('127.0.0.1:0')
    card = pb.AgentCard(
        name='Python SDK v1.0', description='A peer on a2a-sdk.', version='1',
        supported_interfaces=[pb.AgentInterface(url=at, protocol_binding=binding, protocol_version='1.0')],
        capabilities=pb.AgentCapabilities(
            streaming=trait != 'polled', push_notifications=True, extended_agent_card=True, extensions=[pb.AgentExtension(uri=line.EXTENSION)]),
        default_input_modes=['*/*'], default_output_modes=['*/*'],
        skills=[pb.AgentSkill(id='obey', name='Obey', description='Obeys the first word', tags=['test'])])
    if trait == 'declaring':
        json_format.ParseDict(line.security('1.0'), card)
        card.supported_interfaces[0].tenant = line.TENANT
        card.capabilities.extensions[0].required = True
    extended = pb.AgentCard()
    extended.CopyFrom(card)
    extended.name += ', extended'
    hooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        Obedient(), InMemoryTaskStore(), card, push_config_store=hooks, extended_agent_card=extended,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), hooks))
    routes = create_agent_card_routes(card)
    if binding == 'JSONRPC':
        routes += create_jsonrpc_routes(handler, '/')
    elif binding == 'HTTP+JSON':
        routes += create_rest_routes(handler)
    else:
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
        await rpc.start()
    line.ready(base)
    await line.serve_http(Starlette(routes=routes), listener)


class Client:
    def __init__(self, card, transport, extensions):
        self.about, self.t = card, transport
        self.o = {'context': ClientCallContext(service_parameters={'A2A-Extensions': ','.join(extensions)} if extensions else None)}

    async def card(self):
        return from_card(self.about)

    async def extended(self):
        return from_card(await self.t.get_extended_agent_card(pb.GetExtendedAgentCardRequest(), **self.o))

    async def send(self, m):
        return response(await self.t.send_message(request(m), **self.o))

    async def stream(self, m):
        async for r in self.t.send_message_streaming(request(m), **self.o):
            yield response(r)

    async def subscribe(self, task):
        async for r in self.t.subscribe(pb.SubscribeToTaskRequest(id=task), **self.o):
            yield response(r)

    async def get(self, task, history):
        return event('task', await self.t.get_task(pb.GetTaskRequest(id=task, history_length=history), **self.o))

    async def cancel(self, task):
        return event('task', await self.t.cancel_task(pb.CancelTaskRequest(id=task), **self.o))

    async def list(self, context, size, token):
        page = await self.t.list_tasks(pb.ListTasksRequest(context_id=context, page_size=size, page_token=token), **self.o)
        return [t.id for t in page.tasks], page.next_page_token

    async def push_set(self, p):
        return from_push(await self.t.create_task_push_notification_config(to_push(p), **self.o))

    async def push_get(self, task, config):
        return from_push(await self.t.get_task_push_notification_config(pb.GetTaskPushNotificationConfigRequest(task_id=task, id=config), **self.o))

    async def push_list(self, task):
        page = await self.t.list_task_push_notification_configs(pb.ListTaskPushNotificationConfigsRequest(task_id=task), **self.o)
        return [from_push(p) for p in page.configs]

    async def push_delete(self, task, config):
        await self.t.delete_task_push_notification_config(pb.DeleteTaskPushNotificationConfigRequest(task_id=task, id=config), **self.o)


async def dial(d):
    headers = {'Authorization': 'Bearer ' + d['token']} if d.get('token') else {}
    http = httpx.AsyncClient(headers=headers, timeout=60)
    card = await A2ACardResolver(http, d['url']).get_agent_card()
    config = ClientConfig(
        httpx_client=http, grpc_channel_factory=line.channel(d.get('token')), supported_protocol_bindings=[d['binding']], use_client_preference=True)
    return Client(card, ClientFactory(config).create(card)._transport, d.get('extensions'))


def from_card(c):
    about = json_format.MessageToDict(c)
    return {'name': c.name, 'skills': len(c.skills), 'streaming': c.capabilities.streaming, 'push': c.capabilities.push_notifications,
            'security': {k: v for k, v in about.items() if k in ('securitySchemes', 'securityRequirements')}}


def request(m):
    r = pb.SendMessageRequest(message=pb.Message(
        role=pb.Role.ROLE_USER, message_id=str(uuid4()), task_id=m.get('task'), context_id=m.get('context'),
        reference_task_ids=m.get('references'), parts=[text(m['text'])] + [to_part(p) for p in m.get('parts', [])]))
    if m.get('metadata'):
        r.message.metadata.update(m['metadata'])
    r.configuration.return_immediately = bool(m.get('noWait'))
    if m.get('history') is not None:
        r.configuration.history_length = m['history']
    r.configuration.accepted_output_modes.extend(m.get('accept', []))
    if m.get('push'):
        r.configuration.task_push_notification_config.CopyFrom(to_push(m['push']))
    return r


def to_part(p):
    q = pb.Part(filename=p.get('name'), media_type=p.get('mediaType'))
    if p.get('metadata'):
        q.metadata.update(p['metadata'])
    if 'bytes' in p:
        q.raw = base64.b64decode(p['bytes'])
    elif 'url' in p:
        q.url = p['url']
    elif 'data' in p:
        json_format.ParseDict(p['data'], q.data)
    else:
        q.text = p.get('text', '')
    return q


def parts(found):
    out = []
    for p in found:
        q = {'name': p.filename, 'mediaType': p.media_type}
        if p.HasField('metadata'):
            q['metadata'] = json_format.MessageToDict(p.metadata)
        content = p.WhichOneof('content')
        if content == 'raw':
            q['bytes'] = base64.b64encode(p.raw).decode()
        elif content == 'data':
            q['data'] = json_format.MessageToDict(p.data)
        else:
            q[content] = getattr(p, content)
        out.append(q)
    return out


def artifact(a):
    return {'id': a.artifact_id, 'name': a.name, 'parts': parts(a.parts)}


def state(s):
    return S.Name(s).removeprefix('TASK_STATE_').replace('_', '-').lower()


def response(r):
    which = r.WhichOneof('payload')
    return event(which, getattr(r, which))


def event(which, e):
    out = {'context': e.context_id}
    if which == 'message':
        return {**out, 'kind': 'message', 'task': e.task_id, 'said': parts(e.parts)}
    if which == 'artifact_update':
        return {**out, 'kind': 'artifact', 'task': e.task_id, 'append': e.append, 'last': e.last_chunk, 'artifacts': [artifact(e.artifact)]}
    out |= {'state': state(e.status.state), 'said': parts(e.status.message.parts)}
    if which == 'status_update':
        return {**out, 'kind': 'status', 'task': e.task_id}
    return {**out, 'kind': 'task', 'task': e.id, 'artifacts': [artifact(a) for a in e.artifacts], 'history': len(e.history)}


def to_push(p):
    c = pb.TaskPushNotificationConfig(task_id=p.get('task'), id=p.get('id'), url=p['url'], token=p.get('token'))
    if p.get('scheme'):
        c.authentication.scheme, c.authentication.credentials = p['scheme'], p.get('credentials', '')
    return c


def from_push(c):
    return {'task': c.task_id, 'id': c.id, 'url': c.url, 'token': c.token}


def kind(e):
    for found, word in (
        (errors.TaskNotFoundError, 'task-not-found'), (errors.TaskNotCancelableError, 'task-not-cancelable'),
        (errors.PushNotificationNotSupportedError, 'push-not-supported'), (errors.UnsupportedOperationError, 'unsupported-operation'),
        (errors.ContentTypeNotSupportedError, 'content-type'), (errors.ExtendedAgentCardNotConfiguredError, 'extended-card-not-configured'),
        (errors.ExtensionSupportRequiredError, 'extension-required'), (errors.InvalidParamsError, 'invalid-params'),
        (errors.InvalidRequestError, 'invalid-request'), (errors.MethodNotFoundError, 'method-not-found'),
    ):
        if isinstance(e, found):
            return word
    return ''


line.main(serve, dial, kind)
