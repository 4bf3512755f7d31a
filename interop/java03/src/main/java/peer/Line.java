package peer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The client side of the line protocol (see the Go package interop/peer). */
class Line {
    static final ObjectMapper JSON = new ObjectMapper();

    /** Says that this SDK has no such operation. */
    static final class None extends Exception {
        private static final long serialVersionUID = 1;
    }

    private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private final Map<Integer, Client> clients = new ConcurrentHashMap<>();
    private final Map<Integer, Thread> running = new ConcurrentHashMap<>();

    void run() throws Exception {
        ExecutorService pool = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode r = JSON.readTree(line);
            pool.execute(() -> answer(r));
        }
        System.exit(0);
    }

    private void answer(JsonNode r) {
        int n = r.get("n").asInt();
        ObjectNode a = JSON.createObjectNode();
        running.put(n, Thread.currentThread());
        try {
            perform(n, r, a);
        } catch (None e) {
            a.put("none", true);
        } catch (InterruptedException e) {
            // the harness left the stream
        } catch (Throwable e) {
            a.put("error", String.valueOf(e)).put("kind", Client.kind(e));
        } finally {
            running.remove(n);
            Thread.interrupted();
        }
        say(n, a);
    }

    private void perform(int n, JsonNode r, ObjectNode a) throws Exception {
        Client c = clients.get(r.path("at").asInt());
        String task = r.path("task").asText();
        switch (r.get("do").asText()) {
            case "dial" -> clients.put(n, new Client(r.get("dial")));
            case "leave" -> {
                Thread t = running.get(r.get("at").asInt());
                if (t != null) {
                    t.interrupt();
                }
            }
            case "card" -> a.set("card", c.card());
            case "extended" -> a.set("card", c.extended());
            case "send" -> a.set("event", c.send(r.get("message")));
            case "stream" -> c.stream(r.get("message"), e -> more(n, e));
            case "subscribe" -> c.subscribe(task, e -> more(n, e));
            case "get" -> a.set("event", c.get(task, r.get("history")));
            case "cancel" -> a.set("event", c.cancel(task));
            case "push-set" -> a.set("push", c.pushSet(r.get("push")));
            case "push-get" -> a.set("push", c.pushGet(task, r.path("id").asText(null)));
            case "push-list" -> a.set("pushes", c.pushList(task));
            case "push-delete" -> c.pushDelete(task, r.path("id").asText());
            default -> throw new None();
        }
    }

    private void more(int n, ObjectNode event) {
        ObjectNode a = JSON.createObjectNode().put("more", true);
        a.set("event", event);
        say(n, a);
    }

    private synchronized void say(int n, ObjectNode a) {
        out.println(a.put("n", n));
        out.flush();
    }
}
