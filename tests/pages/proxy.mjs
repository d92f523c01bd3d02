// A TLS proxy in front of the inspector, as an operator sets one up: it ends TLS for a name, and
// passes requests on with the `Host` that it was called by, or with the server's own.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { folder } from "./server.mjs";

export const NAME = "inspector.example";

/** A certificate that nobody knows, with its key. */
function certificate() {
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(folder(), name));
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
    "-subj", `/CN=${NAME}`, "-keyout", key, "-out", cert], { stdio: "ignore" });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

/** Starts the proxy of `admin`; gives its address and the function that stops it. */
export async function proxy(admin, { forwardsHost }) {
  const { host, hostname, port } = new URL(admin);
  const server = createServer(certificate(), (asked, answer) => {
    const headers = { ...asked.headers, host: forwardsHost ? asked.headers.host : host };
    const passed = request({ hostname, port, method: asked.method, path: asked.url, headers }, (response) => {
      answer.writeHead(response.statusCode, response.headers);
      response.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `https://${NAME}:${server.address().port}`, stop };
}
