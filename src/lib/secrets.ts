import { hash, timingSafeEqual } from 'node:crypto'

/** The index of the known secret that was given, or -1. All are compared, as hashes of equal length: the time tells nothing. */
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

/** A text in which no secret can be read, nor what JSON makes of one. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text
  for (const secret of secrets) {
    // What JSON made of it first: the secret alone may be half of an escape.
    const escaped = JSON.stringify(secret).slice(1, -1)
    clean = clean.replaceAll(escaped, '[secret]').replaceAll(secret, '[secret]')
  }
  return clean
}
