package a2a

import "encoding/json"

// Binding names of AgentInterface.Binding.
const (
	BindingJSONRPC = "JSONRPC"
	BindingREST    = "HTTP+JSON"
	BindingGRPC    = "GRPC"
)

// AgentCard describes an agent (v1.0 section 4.4.1).
type AgentCard struct {
	Name                 string
	Description          string // Markdown
	Version              string
	Provider             *AgentProvider
	DocumentationURL     string
	IconURL              string
	Interfaces           []AgentInterface // in the agent's order of preference
	Capabilities         AgentCapabilities
	SecuritySchemes      map[string]SecurityScheme
	SecurityRequirements []SecurityRequirement // any one of them suffices; empty = none needed
	DefaultInputModes    []string
	DefaultOutputModes   []string
	Skills               []AgentSkill
	Signatures           []AgentCardSignature
}

// AgentInterface is one address at which an agent answers. Version is major.minor ("1.0", "0.3").
type AgentInterface struct {
	URL     string
	Binding string
	Version string
	Tenant  string
}

// AgentProvider is who runs an agent.
type AgentProvider struct {
	Organization string
	URL          string
}

// AgentCapabilities are the optional abilities of an agent.
type AgentCapabilities struct {
	Streaming         bool
	PushNotifications bool
	ExtendedAgentCard bool
	Extensions        []AgentExtension
}

// AgentExtension declares a protocol extension.
type AgentExtension struct {
	URI         string
	Description string
	Required    bool
	Params      Metadata
}

// AgentSkill is one thing an agent can do.
type AgentSkill struct {
	ID                   string
	Name                 string
	Description          string
	Tags                 []string
	Examples             []string
	InputModes           []string
	OutputModes          []string
	SecurityRequirements []SecurityRequirement
}

// SecurityRequirement names the schemes that are needed together, each with its scopes.
type SecurityRequirement map[string][]string

// SchemeKind tells which fields of a SecurityScheme count.
type SchemeKind string

const (
	SchemeAPIKey        SchemeKind = "apiKey"
	SchemeHTTP          SchemeKind = "http"
	SchemeOAuth2        SchemeKind = "oauth2"
	SchemeOpenIDConnect SchemeKind = "openIdConnect"
	SchemeMutualTLS     SchemeKind = "mutualTLS"
)

// SecurityScheme is one way to authenticate (v1.0 section 4.5).
type SecurityScheme struct {
	Kind              SchemeKind
	Description       string
	Name              string // apiKey: of the header, query parameter or cookie
	Location          string // apiKey: header, query or cookie
	Scheme            string // http: Bearer, Basic, …
	BearerFormat      string
	Flows             []OAuthFlow // oauth2; v1.0 writes one
	OAuth2MetadataURL string
	OpenIDConnectURL  string
}

// OAuthFlow is one OAuth 2.0 flow. Kind is authorizationCode, clientCredentials, deviceCode, implicit or password.
type OAuthFlow struct {
	Kind                   string
	AuthorizationURL       string
	DeviceAuthorizationURL string
	TokenURL               string
	RefreshURL             string
	Scopes                 map[string]string
	PKCERequired           bool
}

// AgentCardSignature is a JWS over a card (v1.0 section 8.4).
type AgentCardSignature struct {
	Protected string
	Signature string
	Header    json.RawMessage
}
