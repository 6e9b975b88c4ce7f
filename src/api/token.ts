import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TriviumError } from '../core/errors.ts'
import { disk, writeAtomically } from '../lib/disk.ts'

/**
 * The control token: the configured one, else the one in `<dir>/control-token`. The file is created
 * on first use, and readable only by its owner. Throws if it is a symbolic link.
 */
export function controlToken(dir: string, configured: string | undefined): string {
  if (configured) return configured
  const fd = disk.open(join(dir, 'control-token'), 'a+')
  try {
    disk.chmod(fd, 0o600)
    const stored = readFileSync(fd, 'utf8').trim()
    if (stored !== '') return stored
    const token = newToken()
    writeFileSync(fd, `${token}\n`)
    return token
  } finally {
    disk.close(fd)
  }
}

/** The replaceable control token of a running daemon. Throws like `controlToken`. */
export function createControlToken(dir: string, given: string | undefined) {
  let token = controlToken(dir, given)
  return {
    current: () => token,
    /**
     * Replaces the generated token: the old one ends at once. Throws `bad_request` if the token was
     * given.
     */
    async rotate(): Promise<{ file: string }> {
      if (given) throw new TriviumError('bad_request', { reason: GIVEN })
      const file = join(dir, 'control-token')
      const next = newToken()
      await writeAtomically(file, `${next}\n`)
      token = next
      return { file }
    },
  }
}

const GIVEN =
  'the control token is given (`TRIVIUM_TOKEN`, or `daemon: { token }`); set another value there, and restart the daemon'

function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * Proves to a client, which sent the nonce, that a daemon knows the token. The client needs it
 * because the port in an old `daemon.json` may belong to another program.
 */
export function proofOf(token: string, nonce: string): string {
  return createHmac('sha256', token).update(`trivium daemon ${nonce}`).digest('base64url')
}
