package peer;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.client.http.JdkA2AHttpClient;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.spi.ClientTransport;
import io.a2a.client.transport.spi.interceptors.ClientCallContext;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.DeleteTaskPushNotificationConfigParams;
import io.a2a.spec.EventKind;
import io.a2a.spec.GetTaskPushNotificationConfigParams;
import io.a2a.spec.JSONRPCError;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.Message;
import io.a2a.spec.MessageSendConfiguration;
import io.a2a.spec.MessageSendParams;
import io.a2a.spec.PushNotificationAuthenticationInfo;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.StreamingEventKind;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.util.Utils;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/** The SDK's client, connected to an agent. */
class Client {
    private final AgentCard about;
    private final ClientTransport c;
    private final ClientCallContext with;

    Client(JsonNode dial) throws Exception {
        Map<String, String> headers = new HashMap<>();
        if (dial.hasNonNull("token")) {
            headers.put("Authorization", "Bearer " + dial.get("token").asText());
        }
        about = new A2ACardResolver(new JdkA2AHttpClient(), dial.get("url").asText(), ".well-known/agent-card.json", headers).getAgentCard();
        if (dial.hasNonNull("extensions")) {
            headers.put("X-A2A-Extensions", String.join(",", Line.JSON.convertValue(dial.get("extensions"), String[].class)));
        }
        with = new ClientCallContext(Map.of(), headers);
        String binding = dial.get("binding").asText();
        String at = about.preferredTransport().equals(binding) ? about.url() : null;
        for (AgentInterface i : about.additionalInterfaces() == null ? List.<AgentInterface>of() : about.additionalInterfaces()) {
            if (at == null && i.transport().equals(binding)) {
                at = i.url();
            }
        }
        if (at == null) {
            throw new IllegalArgumentException("the card offers no " + binding);
        }
        c = new JSONRPCTransport(null, about, at, List.of());
    }

    ObjectNode card() {
        return from(about);
    }

    ObjectNode extended() throws Exception {
        return from(c.getAgentCard(with));
    }

    ObjectNode send(JsonNode m) throws Exception {
        return event(c.sendMessage(params(m), with));
    }

    void stream(JsonNode m, Consumer<ObjectNode> each) throws Exception {
        MessageSendParams p = params(m);
        all(each, (events, errors) -> c.sendMessageStreaming(p, events, errors, with));
    }

    void subscribe(String task, Consumer<ObjectNode> each) throws Exception {
        all(each, (events, errors) -> c.resubscribe(new TaskIdParams(task), events, errors, with));
    }

    private interface Stream {
        void open(Consumer<StreamingEventKind> events, Consumer<Throwable> errors) throws Exception;
    }

    /** Waits for the end of a stream: an error, or none. */
    private void all(Consumer<ObjectNode> each, Stream stream) throws Exception {
        LinkedBlockingQueue<Object> came = new LinkedBlockingQueue<>();
        Object end = new Object();
        stream.open(came::add, e -> came.add(e == null || e instanceof CancellationException ? end : e));
        for (Object o = came.take(); o != end; o = came.take()) {
            if (o instanceof Throwable e) {
                throw new Exception(e);
            }
            each.accept(event(o));
            if (Line.JSON.valueToTree(o instanceof io.a2a.spec.TaskStatusUpdateEvent u && u.isFinal()).asBoolean()) {
                return; // the SDK closes the channel and says nothing more
            }
        }
    }

    ObjectNode get(String task, JsonNode history) throws Exception {
        return event(c.getTask(history == null ? new TaskQueryParams(task) : new TaskQueryParams(task, history.asInt()), with));
    }

    ObjectNode cancel(String task) throws Exception {
        return event(c.cancelTask(new TaskIdParams(task), with));
    }

    ObjectNode pushSet(JsonNode p) throws Exception {
        return from(c.setTaskPushNotificationConfiguration(new TaskPushNotificationConfig(p.path("task").asText(), push(p)), with));
    }

    ObjectNode pushGet(String task, String id) throws Exception {
        return from(c.getTaskPushNotificationConfiguration(new GetTaskPushNotificationConfigParams(task, id), with));
    }

    ArrayNode pushList(String task) throws Exception {
        ArrayNode all = Line.JSON.createArrayNode();
        c.listTaskPushNotificationConfigurations(new ListTaskPushNotificationConfigParams(task), with).forEach(p -> all.add(from(p)));
        return all;
    }

    void pushDelete(String task, String id) throws Exception {
        c.deleteTaskPushNotificationConfigurations(new DeleteTaskPushNotificationConfigParams(task, id), with);
    }

    private static ObjectNode from(AgentCard card) {
        ObjectNode out = Line.JSON.createObjectNode().put("name", card.name()).put("skills", card.skills().size())
            .put("streaming", card.capabilities().streaming()).put("push", card.capabilities().pushNotifications());
        ObjectNode security = out.putObject("security");
        security.set("securitySchemes", Utils.OBJECT_MAPPER.valueToTree(card.securitySchemes()));
        security.set("security", Utils.OBJECT_MAPPER.valueToTree(card.security()));
        return out;
    }

    private static ObjectNode from(TaskPushNotificationConfig p) {
        PushNotificationConfig c = p.pushNotificationConfig();
        return Line.JSON.createObjectNode().put("task", p.taskId()).put("id", c.id()).put("url", c.url()).put("token", c.token());
    }

    private static PushNotificationConfig push(JsonNode p) {
        PushNotificationAuthenticationInfo as = !p.hasNonNull("scheme") ? null
            : new PushNotificationAuthenticationInfo(List.of(p.get("scheme").asText()), p.path("credentials").asText(null));
        return new PushNotificationConfig(p.get("url").asText(), p.path("token").asText(null), as, p.path("id").asText(null));
    }

    /** The message in the JSON of the protocol, read by the SDK. */
    private static MessageSendParams params(JsonNode m) throws Exception {
        ObjectNode said = Line.JSON.createObjectNode().put("kind", "message").put("role", "user").put("messageId", UUID.randomUUID().toString());
        if (m.hasNonNull("task")) {
            said.set("taskId", m.get("task"));
        }
        if (m.hasNonNull("context")) {
            said.set("contextId", m.get("context"));
        }
        if (m.hasNonNull("references")) {
            said.set("referenceTaskIds", m.get("references"));
        }
        if (m.hasNonNull("metadata")) {
            said.set("metadata", m.get("metadata"));
        }
        ArrayNode parts = said.putArray("parts");
        parts.addObject().put("kind", "text").set("text", m.get("text"));
        for (JsonNode p : m.path("parts")) {
            ObjectNode q = parts.addObject();
            if (p.has("data")) {
                if (!p.get("data").isObject()) {
                    throw new Line.None(); // the data of this SDK is an object
                }
                q.put("kind", "data").set("data", p.get("data"));
            } else if (p.has("bytes") || p.has("url")) {
                ObjectNode file = q.put("kind", "file").putObject("file");
                file.set("name", p.get("name"));
                file.set("mimeType", p.get("mediaType"));
                file.set(p.has("bytes") ? "bytes" : "uri", p.has("bytes") ? p.get("bytes") : p.get("url"));
            } else {
                q.put("kind", "text").put("text", p.path("text").asText());
            }
            if (p.has("metadata")) {
                q.set("metadata", p.get("metadata"));
            }
        }
        MessageSendConfiguration.Builder config = new MessageSendConfiguration.Builder().blocking(!m.path("noWait").asBoolean())
            .acceptedOutputModes(m.has("accept") ? Line.JSON.convertValue(m.get("accept"), new TypeReference<List<String>>() { }) : List.of());
        if (m.hasNonNull("history")) {
            config.historyLength(m.get("history").asInt());
        }
        if (m.hasNonNull("push")) {
            config.pushNotificationConfig(push(m.get("push")));
        }
        return new MessageSendParams.Builder().message(Utils.OBJECT_MAPPER.treeToValue(said, Message.class)).configuration(config.build()).build();
    }

    /** What the SDK has read, from the JSON that it writes of it. */
    private static ObjectNode event(Object read) {
        JsonNode e = Utils.OBJECT_MAPPER.valueToTree(read instanceof EventKind || read instanceof StreamingEventKind ? read : Map.of());
        ObjectNode out = Line.JSON.createObjectNode();
        out.set("context", text(e.path("contextId")));
        out.set("task", text(e.path("taskId")));
        switch (e.path("kind").asText()) {
            case "message" -> out.put("kind", "message").set("said", parts(e.path("parts")));
            case "artifact-update" -> {
                out.put("kind", "artifact").put("append", e.path("append").asBoolean()).put("last", e.path("lastChunk").asBoolean());
                out.putArray("artifacts").add(artifact(e.path("artifact")));
            }
            case "status-update" -> status(out.put("kind", "status"), e);
            default -> {
                status(out.put("kind", "task"), e);
                out.set("task", text(e.path("id")));
                out.put("history", e.path("history").size());
                ArrayNode all = out.putArray("artifacts");
                e.path("artifacts").forEach(a -> all.add(artifact(a)));
            }
        }
        return out;
    }

    private static JsonNode text(JsonNode n) {
        return Line.JSON.getNodeFactory().textNode(n.asText("").equals("null") ? "" : n.asText(""));
    }

    private static void status(ObjectNode out, JsonNode e) {
        out.set("state", e.path("status").path("state"));
        out.set("said", parts(e.path("status").path("message").path("parts")));
    }

    private static ObjectNode artifact(JsonNode a) {
        ObjectNode out = Line.JSON.createObjectNode();
        out.set("id", text(a.path("artifactId")));
        out.set("name", text(a.path("name")));
        out.set("parts", parts(a.path("parts")));
        return out;
    }

    private static ArrayNode parts(JsonNode in) {
        ArrayNode all = Line.JSON.createArrayNode();
        for (JsonNode p : in) {
            ObjectNode q = all.addObject();
            JsonNode file = p.path("file");
            copy(p, "text", q, "text");
            copy(p, "data", q, "data");
            copy(p, "metadata", q, "metadata");
            copy(file, "name", q, "name");
            copy(file, "mimeType", q, "mediaType");
            copy(file, "uri", q, "url");
            copy(file, "bytes", q, "bytes");
        }
        return all;
    }

    private static void copy(JsonNode from, String name, ObjectNode to, String as) {
        if (from.hasNonNull(name)) {
            to.set(as, from.get(name));
        }
    }

    private static final Map<Integer, String> CODES = Map.of(
        -32001, "task-not-found", -32002, "task-not-cancelable", -32003, "push-not-supported", -32004, "unsupported-operation",
        -32005, "content-type", -32007, "extended-card-not-configured", -32600, "invalid-request", -32601, "method-not-found",
        -32602, "invalid-params");

    /** The protocol error in words, "" for any other. */
    static String kind(Throwable e) {
        for (; e != null; e = e.getCause()) {
            if (e instanceof JSONRPCError r) {
                return CODES.getOrDefault(r.getCode(), "");
            }
        }
        return "";
    }
}
