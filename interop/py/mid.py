"""What the Python editions of v0.2 and v0.3 share: their nouns are the same pydantic models."""

import asyncio
import sys
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parent))

from a2a.server.agent_execution import AgentExecutor
from a2a.types import (
    AgentCapabilities, AgentCard, AgentExtension, AgentSkill, Artifact, DataPart, FilePart, FileWithBytes, FileWithUri, Message,
    MessageSendConfiguration, MessageSendParams, Part, PushNotificationAuthenticationInfo, PushNotificationConfig, Role, Task,
    TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent, TextPart,
)

from line import EXTENSION, NotOffered, security


def text(s):
    return Part(root=TextPart(text=s))


class Obedient(AgentExecutor):
    """Obeys the first word of a message, as the harness's own agent does."""

    async def execute(self, context, queue):
        said = context.message.parts[0].root.text
        word, _, rest = said.partition(' ')
        ids = {'task_id': context.task_id, 'context_id': context.context_id}

        def message(s, **more):
            return Message(role=Role.agent, message_id=str(uuid4()), parts=[text(s)], context_id=context.context_id, **more)

        async def status(state, words=''):
            said = message(words, task_id=context.task_id) if words else None
            await queue.enqueue_event(TaskStatusUpdateEvent(
                status=TaskStatus(state=state, message=said), final=state not in (TaskState.submitted, TaskState.working), **ids))

        async def chunk(name, more, last, *parts):
            await queue.enqueue_event(TaskArtifactUpdateEvent(
                artifact=Artifact(artifact_id=name, name=name, parts=list(parts)), append=more, last_chunk=last, **ids))

        async def finish(*parts):
            await chunk('result', False, True, *parts)
            await status(TaskState.completed)

        task = context.current_task
        if task and task.status.state in (TaskState.input_required, TaskState.auth_required):
            return await finish(text('You said ' + said))
        if word == 'echo':
            return await queue.enqueue_event(message(rest))
        await queue.enqueue_event(Task(
            id=context.task_id, context_id=context.context_id, history=[context.message], status=TaskStatus(state=TaskState.submitted)))
        if word == 'task':
            await finish(text(rest))
        elif word == 'parts':
            await finish(*context.message.parts[1:])
        elif word == 'metadata':
            await finish(Part(root=DataPart(data=context.message.metadata or {})))
        elif word == 'refer':
            await finish(text(' '.join(context.message.reference_task_ids or [])))
        elif word == 'extensions' and hasattr(context, 'requested_extensions'):
            await finish(text(' '.join(context.requested_extensions)))
        elif word == 'artifacts':
            await chunk('first', False, False, text('one '))
            await chunk('first', True, True, text('two '))
            await chunk('second', False, False, text('draft'))
            await chunk('second', False, True, text('final'))
            await status(TaskState.completed)
        elif word == 'stream':
            await status(TaskState.working)
            for i in range(20):
                await chunk('text', i > 0, i == 19, text(f'chunk {i} 東;'))
                await asyncio.sleep(0.02)
            await status(TaskState.completed)
        elif word == 'ask':
            await status(TaskState.input_required, 'Which colour?')
        elif word == 'auth':
            await status(TaskState.auth_required, 'Sign in first.')
        elif word == 'slow':
            await status(TaskState.working)
            await asyncio.sleep(60)
        else:
            await status(TaskState.failed, 'I do not know ' + word)

    async def cancel(self, context, queue):
        await queue.enqueue_event(TaskStatusUpdateEvent(
            task_id=context.task_id, context_id=context.context_id, status=TaskStatus(state=TaskState.canceled), final=True))


def card(trait, version, **more):
    declaring = trait == 'declaring'
    return AgentCard(
        description='A peer on a2a-sdk.', version='1', protocol_version=version, **(security(version[:3]) if declaring else {}),
        capabilities=AgentCapabilities(streaming=trait != 'polled', push_notifications=True, extensions=[
            AgentExtension(uri=EXTENSION, required=declaring)]),
        default_input_modes=['*/*'], default_output_modes=['*/*'],
        skills=[AgentSkill(id='obey', name='Obey', description='Obeys the first word', tags=['test'])],
        **more)


def from_card(c):
    return {
        'name': c.name, 'skills': len(c.skills), 'streaming': bool(c.capabilities.streaming), 'push': bool(c.capabilities.push_notifications),
        'security': c.model_dump(mode='json', by_alias=True, exclude_none=True, include={'security_schemes', 'security'})}


def params(m):
    config = MessageSendConfiguration(accepted_output_modes=m.get('accept', []), blocking=not m.get('noWait'), history_length=m.get('history'))
    if m.get('push'):
        config.push_notification_config = to_push(m['push']).push_notification_config
    return MessageSendParams(configuration=config, message=Message(
        role=Role.user, message_id=str(uuid4()), task_id=m.get('task'), context_id=m.get('context'), metadata=m.get('metadata'),
        reference_task_ids=m.get('references'), parts=[text(m['text'])] + [to_part(p) for p in m.get('parts', [])]))


def to_part(p):
    metadata = p.get('metadata')
    about = {'name': p.get('name'), 'mime_type': p.get('mediaType')}
    if 'bytes' in p:
        return Part(root=FilePart(file=FileWithBytes(bytes=p['bytes'], **about), metadata=metadata))
    if 'url' in p:
        return Part(root=FilePart(file=FileWithUri(uri=p['url'], **about), metadata=metadata))
    if 'data' in p:
        if not isinstance(p['data'], dict):
            raise NotOffered
        return Part(root=DataPart(data=p['data'], metadata=metadata))
    return Part(root=TextPart(text=p.get('text', ''), metadata=metadata))


def parts(found):
    out = []
    for p in found or []:
        p = p.root
        q = {'metadata': p.metadata} if p.metadata is not None else {}
        if isinstance(p, TextPart):
            q['text'] = p.text
        elif isinstance(p, DataPart):
            q['data'] = p.data
        else:
            q.update({k: v for k, v in {
                'name': p.file.name, 'mediaType': p.file.mime_type, 'bytes': getattr(p.file, 'bytes', None), 'url': getattr(p.file, 'uri', None),
            }.items() if v is not None})
        out.append(q)
    return out


def artifact(a):
    return {'id': a.artifact_id, 'name': a.name or '', 'parts': parts(a.parts)}


def event(e):
    if isinstance(e, Message):
        return {'kind': 'message', 'task': e.task_id or '', 'context': e.context_id or '', 'said': parts(e.parts)}
    ids = {'context': e.context_id or ''}
    if isinstance(e, TaskArtifactUpdateEvent):
        return {**ids, 'kind': 'artifact', 'task': e.task_id, 'append': bool(e.append), 'last': bool(e.last_chunk), 'artifacts': [artifact(e.artifact)]}
    ids |= {'state': e.status.state.value, 'said': parts(e.status.message.parts if e.status.message else [])}
    if isinstance(e, TaskStatusUpdateEvent):
        return {**ids, 'kind': 'status', 'task': e.task_id}
    return {**ids, 'kind': 'task', 'task': e.id, 'artifacts': [artifact(a) for a in e.artifacts or []], 'history': len(e.history or [])}


def to_push(p):
    c = PushNotificationConfig(id=p.get('id'), url=p['url'], token=p.get('token'))
    if p.get('scheme'):
        c.authentication = PushNotificationAuthenticationInfo(schemes=[p['scheme']], credentials=p.get('credentials'))
    return TaskPushNotificationConfig(task_id=p.get('task', ''), push_notification_config=c)


def from_push(p):
    c = p.push_notification_config
    return {'task': p.task_id, 'id': c.id or '', 'url': c.url, 'token': c.token or ''}
