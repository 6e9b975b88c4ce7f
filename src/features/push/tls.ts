import { readFileSync } from 'node:fs'
import type { PushSubscription } from '../../config/schema/push.ts'
import { reasonOf } from '../../core/errors.ts'

/** The TLS options of a connection. Reads files. Throws an Error that names the option. */
export function tlsOptions(tls: PushSubscription['tls']): Partial<Record<'cert' | 'key' | 'ca', string>> {
  const entries = Object.entries(tls ?? {}).map(([name, value]) => [name, pemOf(name, value)])
  return Object.fromEntries(entries)
}

function pemOf(name: string, value: string): string {
  if (value.startsWith('-----BEGIN ')) return value
  try {
    return readFileSync(value, 'utf8')
  } catch (error) {
    throw new Error(`\`tls.${name}\` cannot be read: ${reasonOf(error)}`, { cause: error })
  }
}
