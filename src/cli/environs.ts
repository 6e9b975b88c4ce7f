import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { RoutedSkill } from '../config/gateways.ts'
import type { Config } from '../config/load-config.ts'
import { TriviumError } from '../core/errors.ts'
import { defined } from '../lib/defined.ts'

/** Where a command runs. */
export type Environs = {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  version: string
  /** `--config`. */
  path?: string
}

/** A file of the repository or of the package; what is built lies one folder deeper. */
export function ownFile(name: string): string {
  const places = ['../../', '../../../'].map((root) => fileURLToPath(new URL(root + name, import.meta.url)))
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new TriviumError('internal', { reason: `${name} of Trivium is missing` })
  return found
}

export function ownVersion(): string {
  return String(JSON.parse(readFileSync(ownFile('package.json'), 'utf8')).version)
}

/** Reads the configuration of these environs, again each time it is called. */
export async function loadFor(
  { env, cwd, path }: Environs,
  skills?: readonly RoutedSkill[],
): Promise<Config> {
  // A command that reads no configuration need not wait for what reads it.
  const [{ loadConfig }, { transports }] = await Promise.all([
    import('../config/load-config.ts'),
    import('../../transports/registry.ts'),
  ])
  return loadConfig({ env, cwd, transports, ...defined({ path, skills }) })
}
