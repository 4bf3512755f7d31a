package peer;

import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.QuarkusMain;
import java.net.ServerSocket;

/** A peer made with the Java SDK for v0.3: an agent and a client (see the Go package interop/peer). */
@QuarkusMain
public class Main {
    public static void main(String... args) throws Exception {
        if (args[0].equals("client")) {
            new Line().run();
            return;
        }
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        System.setProperty("quarkus.http.port", String.valueOf(port));
        System.setProperty("peer.url", "http://127.0.0.1:" + port + "/");
        System.setProperty("peer.binding", args[1]);
        System.setProperty("peer.trait", args.length > 2 ? args[2] : "");
        Quarkus.run(Ready.class);
    }

    /** Says so when the agent is served. */
    public static class Ready implements QuarkusApplication {
        @Override
        public int run(String... args) {
            System.out.println("ready " + System.getProperty("peer.url"));
            System.out.flush();
            Quarkus.waitForExit();
            return 0;
        }
    }
}
