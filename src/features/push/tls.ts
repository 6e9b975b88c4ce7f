import { readFileSync } from 'node:fs'
import { reasonOf } from '../../core/errors.ts'
import type { PushSubscription } from './schema.ts'

/**
 * The TLS options of a connection as PEM text. Reads the files. If one cannot be read, throws an
 * Error that names the option.
 */
export function tlsOptions(tls: PushSubscription['tls']): Partial<Record<'cert' | 'key' | 'ca', string>> {
  const entries = Object.entries(tls ?? {}).map(([name, value]) => [name, pemOf(name, value)])
  return Object.fromEntries(entries)
}

/** Whether a TLS option is a certificate or key itself, rather than the path of a file. */
export function isPem(value: string): boolean {
  return value.startsWith('-----BEGIN ')
}

function pemOf(name: string, value: string): string {
  if (isPem(value)) return value
  try {
    return readFileSync(value, 'utf8')
  } catch (error) {
    throw new Error(`\`tls.${name}\` cannot be read: ${reasonOf(error)}`, { cause: error })
  }
}
