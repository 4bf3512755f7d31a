package peer;

import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.events.EventQueue;
import io.a2a.server.tasks.TaskUpdater;
import io.a2a.spec.DataPart;
import io.a2a.spec.JSONRPCError;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import io.a2a.spec.TextPart;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** Obeys the first word of a message, as the harness's own agent does. */
@ApplicationScoped
public class Obedient {
    private final Set<String> canceled = ConcurrentHashMap.newKeySet();

    @Produces
    public AgentExecutor executor() {
        return new AgentExecutor() {
            @Override
            public void execute(RequestContext context, EventQueue queue) throws JSONRPCError {
                Obedient.this.execute(context, queue);
            }

            @Override
            public void cancel(RequestContext context, EventQueue queue) throws JSONRPCError {
                canceled.add(context.getTaskId());
                new TaskUpdater(context, queue).cancel();
            }
        };
    }

    private void execute(RequestContext context, EventQueue queue) {
        TaskUpdater task = new TaskUpdater(context, queue);
        List<Part<?>> parts = context.getMessage().getParts();
        String said = ((TextPart) parts.get(0)).getText();
        String word = said.split(" ", 2)[0];
        String rest = said.contains(" ") ? said.split(" ", 2)[1] : "";
        TaskState before = context.getTask() == null ? null : context.getTask().getStatus().state();
        if (before == TaskState.INPUT_REQUIRED || before == TaskState.AUTH_REQUIRED) {
            finish(task, new TextPart("You said " + said));
            return;
        }
        if (word.equals("echo")) {
            queue.enqueueEvent(new Message.Builder().role(Message.Role.AGENT).messageId(UUID.randomUUID().toString())
                .contextId(context.getContextId()).parts(new TextPart(rest)).build());
            return;
        }
        queue.enqueueEvent(new Task.Builder().id(context.getTaskId()).contextId(context.getContextId())
            .status(new TaskStatus(TaskState.SUBMITTED)).history(context.getMessage()).build());
        switch (word) {
            case "task" -> finish(task, new TextPart(rest));
            case "parts" -> finish(task, parts.subList(1, parts.size()).toArray(new Part<?>[0]));
            case "metadata" -> finish(task, new DataPart(context.getMessage().getMetadata() == null ? Map.of() : context.getMessage().getMetadata()));
            case "refer" -> finish(task, new TextPart(String.join(" ", context.getMessage().getReferenceTaskIds())));
            case "extensions" -> finish(task, new TextPart(String.join(" ", context.getCallContext().getRequestedExtensions())));
            case "artifacts" -> {
                chunk(task, "first", false, false, new TextPart("one "));
                chunk(task, "first", true, true, new TextPart("two "));
                chunk(task, "second", false, false, new TextPart("draft"));
                chunk(task, "second", false, true, new TextPart("final"));
                task.complete();
            }
            case "stream" -> {
                task.startWork();
                for (int i = 0; i < 20; i++) {
                    chunk(task, "text", i > 0, i == 19, new TextPart("chunk " + i + " 東;"));
                    sleep(20);
                }
                task.complete();
            }
            case "ask" -> task.requiresInput(words(task, "Which colour?"), true);
            case "auth" -> task.requiresAuth(words(task, "Sign in first."), true);
            case "slow" -> {
                task.startWork();
                for (int i = 0; i < 1200 && !canceled.contains(context.getTaskId()); i++) {
                    sleep(50);
                }
            }
            default -> task.fail(words(task, "I do not know " + word));
        }
    }

    private static Message words(TaskUpdater task, String words) {
        return task.newAgentMessage(List.of(new TextPart(words)), null);
    }

    private static void chunk(TaskUpdater task, String name, boolean more, boolean last, Part<?>... parts) {
        task.addArtifact(List.of(parts), name, name, null, more, last);
    }

    private static void finish(TaskUpdater task, Part<?>... parts) {
        chunk(task, "result", false, true, parts);
        task.complete();
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
