import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { disk } from '../lib/disk.ts'

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
    const token = randomBytes(32).toString('base64url')
    writeFileSync(fd, `${token}\n`)
    return token
  } finally {
    disk.close(fd)
  }
}

/**
 * Proves to a client, which sent the nonce, that a daemon knows the token. The client needs it
 * because the port in an old `daemon.json` may belong to another program.
 */
export function proofOf(token: string, nonce: string): string {
  return createHmac('sha256', token).update(`trivium daemon ${nonce}`).digest('base64url')
}
