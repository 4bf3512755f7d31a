package peer;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import io.a2a.server.ExtendedAgentCard;
import io.a2a.server.PublicAgentCard;
import io.a2a.spec.AgentCapabilities;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentExtension;
import io.a2a.spec.AgentSkill;
import io.a2a.spec.SecurityScheme;
import io.a2a.util.Utils;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The agent's card. */
@ApplicationScoped
public class Card {
    static final String EXTENSION = "urn:parley:interop:extension";

    @Produces
    @PublicAgentCard
    public AgentCard card() throws Exception {
        return build("Java SDK v0.3");
    }

    @Produces
    @ExtendedAgentCard
    public AgentCard extended() throws Exception {
        return build("Java SDK v0.3, extended");
    }

    private static AgentCard build(String name) throws Exception {
        String trait = System.getProperty("peer.trait", "");
        boolean declaring = trait.equals("declaring");
        AgentCard.Builder b = new AgentCard.Builder()
            .name(name).description("A peer on a2a-java.").version("1").protocolVersion("0.3.0")
            .url(System.getProperty("peer.url", "")).preferredTransport(System.getProperty("peer.binding", "JSONRPC"))
            .supportsAuthenticatedExtendedCard(true)
            .capabilities(new AgentCapabilities.Builder()
                .streaming(!trait.equals("polled")).pushNotifications(true)
                .extensions(List.of(new AgentExtension.Builder().uri(EXTENSION).required(declaring).build())).build())
            .defaultInputModes(List.of("*/*")).defaultOutputModes(List.of("*/*"))
            .skills(List.of(new AgentSkill.Builder().id("obey").name("Obey").description("Obeys the first word").tags(List.of("test")).build()));
        if (declaring) {
            JsonNode declared = Utils.OBJECT_MAPPER.readTree(Files.readString(Path.of("peer", "security", "v0.3.json")));
            b.securitySchemes(Utils.OBJECT_MAPPER.convertValue(declared.get("securitySchemes"), new TypeReference<Map<String, SecurityScheme>>() { }))
                .security(Utils.OBJECT_MAPPER.convertValue(declared.get("security"), new TypeReference<List<Map<String, List<String>>>>() { }));
        }
        return b.build();
    }
}
