import { hash, timingSafeEqual } from 'node:crypto'

/**
 * Returns the index of the matching secret, or -1. Compares hashes of all secrets, in constant
 * time.
 */
export function createSecretCheck(known: readonly string[]): (given: string) => number {
  const hashes = known.map((secret) => hash('sha256', secret, 'buffer'))
  return (given) => {
    const candidate = hash('sha256', given, 'buffer')
    let found = -1
    hashes.forEach((one, index) => {
      if (timingSafeEqual(one, candidate) && found < 0) found = index
    })
    return found
  }
}

/** Redacts secrets in a text, also in their JSON-escaped and their URL-encoded form. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  // The longest first: replacing a part of a longer secret would leave the rest of it.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    // The escaped form first: the plain secret may match half of an escape.
    const escaped = JSON.stringify(secret).slice(1, -1)
    clean = clean.replaceAll(escaped, '[secret]').replaceAll(secret, '[secret]')
    if (!/^[\w.~-]*$/.test(secret))
      clean = clean.replaceAll(encodeURIComponent(secret.toWellFormed()), '[secret]')
  }
  return clean
}
