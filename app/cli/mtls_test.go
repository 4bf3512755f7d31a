package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// certified starts an agent over TLS that talks to nobody without the certificate of one client. It sets CERTIFIED to its
// address and writes ca.pem, for who is to trust it, and client.pem and client.key, for who is to be that client.
func certified(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: certified")
	}
	authority, authorityKey := issue(ts, "authority", nil, nil)
	server, serverKey := issue(ts, "127.0.0.1", authority, authorityKey)
	client, clientKey := issue(ts, "client", authority, authorityKey)
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"name":"Certified","description":"d","version":"1","supportedInterfaces":[{"url":"https://%s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"securitySchemes":{"c":{"mtlsSecurityScheme":{}}},"securityRequirements":[{"schemes":{"c":{"list":[]}}}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"s","tags":["t"]}]}`, r.Host)
			return
		}
		var call struct {
			ID json.RawMessage `json:"id"`
		}
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &call)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"message":{"messageId":"r","role":"ROLE_AGENT","parts":[{"text":"you are %s"}]}}}`,
			call.ID, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		Certificates: []tls.Certificate{{Certificate: [][]byte{server.Raw}, PrivateKey: serverKey}},
	}
	s.StartTLS()
	ts.Defer(s.Close)
	ts.Setenv("CERTIFIED", s.URL+"/")
	private, err := x509.MarshalPKCS8PrivateKey(clientKey)
	ts.Check(err)
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: authority.Raw}, "client.pem": {Type: "CERTIFICATE", Bytes: client.Raw},
		"client.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(block), 0o600))
	}
}

// issue makes a certificate, signed by an issuer, or by itself for nil.
func issue(ts *testscript.TestScript, name string, issuer *x509.Certificate, issuerKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: issuer == nil, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		form.IPAddresses = []net.IP{ip}
	}
	if issuer == nil {
		issuer, issuerKey = form, key
		form.KeyUsage = x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, form, issuer, &key.PublicKey, issuerKey)
	ts.Check(err)
	cert, err := x509.ParseCertificate(der)
	ts.Check(err)
	return cert, key
}
