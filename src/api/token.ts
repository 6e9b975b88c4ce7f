import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { disk } from '../lib/disk.ts'

/** The control token: the given one, else the one in `<dir>/control-token`, created on first use, readable by the owner only. Throws for a link. */
export function controlToken(dir: string, given: string | undefined): string {
  if (given) return given
  const fd = disk.open(join(dir, 'control-token'), 'a+')
  try {
    disk.chmod(fd, 0o600)
    const found = readFileSync(fd, 'utf8').trim()
    if (found !== '') return found
    const token = randomBytes(32).toString('base64url')
    writeFileSync(fd, `${token}\n`)
    return token
  } finally {
    disk.close(fd)
  }
}

/** Proof that a daemon knows the token, for a nonce: the port in an old `daemon.json` may belong to another program. */
export function proofOf(token: string, nonce: string): string {
  return createHmac('sha256', token).update(`trivium daemon ${nonce}`).digest('base64url')
}
