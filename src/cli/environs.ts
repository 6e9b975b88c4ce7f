import { readFileSync } from 'node:fs'
import type { Config } from '../config/load-config.ts'
import type { RoutedSkill } from '../config/skill-routes.ts'

/** Where a command runs. */
export type Environs = {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  version: string
  /** `--config`. */
  path?: string
}

/** The version in package.json, which lies above the sources and, in a package, above the built files. */
export function ownVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      return String(JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')).version)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
  return 'unknown'
}

/** Reads the configuration of these environs, again each time it is called. */
export function loadFor(environs: Environs): (skills?: readonly RoutedSkill[]) => Promise<Config> {
  const { env, cwd, path } = environs
  return async (skills) => {
    // A command that reads no configuration need not wait for what reads it.
    const [{ loadConfig }, { transports }] = await Promise.all([
      import('../config/load-config.ts'),
      import('../../transports/registry.ts'),
    ])
    return loadConfig({
      env,
      cwd,
      transports,
      ...(path === undefined ? {} : { path }),
      ...(skills === undefined ? {} : { skills }),
    })
  }
}
