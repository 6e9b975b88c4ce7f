import type { DaemonConfig } from './daemon-section.ts'
import { isRecord } from './yaml-tree.ts'

const SECRET_KEY = /secret|token|pass|api-?key|credential/i
/** Shorter texts would blot out half of every log line. */
const MIN_LENGTH = 4
/** Values of variables that are surely no secret, and that logs must be able to show. */
const PLAIN = /^(\d{1,5}|true|false|localhost|[\d.]+)$/

/**
 * The texts that logs must not show: what came from variables, what stands under keys that name secrets,
 * the control token, and the passwords in the Redis URL. Longest first, so that one inside another goes too.
 */
export function secretsOf(fromVariables: ReadonlySet<string>, file: unknown, daemon: DaemonConfig): string[] {
  const found = new Set(fromVariables)
  collect(file, false, found)
  if (daemon.token !== undefined) found.add(daemon.token)
  for (const [, password = ''] of (daemon.redisUrl ?? '').matchAll(/\/\/[^/@\s]*:([^/@\s]+)@/g)) {
    found.add(password)
    found.add(decoded(password))
  }
  return [...found]
    .filter((text) => text.length >= MIN_LENGTH && !PLAIN.test(text) && !text.includes('${'))
    .toSorted((a, b) => b.length - a.length)
}

function collect(value: unknown, isSecret: boolean, found: Set<string>): void {
  if (typeof value === 'string' && isSecret) found.add(value)
  if (Array.isArray(value)) for (const item of value) collect(item, isSecret, found)
  if (!isRecord(value)) return
  for (const [key, item] of Object.entries(value)) collect(item, SECRET_KEY.test(key), found)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A stray % is part of the password itself.
    return text
  }
}
