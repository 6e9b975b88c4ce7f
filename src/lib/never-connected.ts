/** Codes of errors before a connection and its TLS session were established. */
const BEFORE_CONNECTION =
  /^(ERR_INVALID_URL|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_.*|ERR_TLS_.*|DEPTH_ZERO.*|SELF_SIGNED.*|UNABLE_TO.*)$/

/**
 * Whether a request failed before anything was sent, by the code of the error or of one of its
 * causes, as `fetch` has them.
 */
export function neverConnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && BEFORE_CONNECTION.test(String(error.code))) || neverConnected(error.cause)
}
