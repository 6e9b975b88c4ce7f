import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { z } from 'zod'
import { type LoadOptions, readConfig } from '../../src/config/load-config.ts'
import type { Problem } from '../../src/config/yaml-file.ts'
import { rate, size } from '../../src/core/units.ts'
import { temporaryDir } from '../fixtures/folder.ts'

const verify = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('none') }),
  z.strictObject({ scheme: z.literal('github'), secret: z.string().min(1) }),
])

/** Transports with the kinds of schemas that real ones have. */
export const transports = {
  webhook: {
    options: z.strictObject({
      path: z.string().regex(/^\//, 'expected a path that starts with /'),
      verify: verify.default({ scheme: 'none' }),
      'max-body': size.default(1024),
      'rate-limit': rate.default('off'),
      replies: z.boolean().default(false),
    }),
  },
  websocket: {
    // A transform, even this one, makes the schema a pipe, like those of some real transports.
    options: z.strictObject({ path: z.string(), port: z.int().optional() }).transform((options) => options),
  },
  slack: {
    options: z.strictObject({
      mode: z.enum(['socket', 'http']).default('socket'),
      botToken: z.string(),
      answers: z.record(z.string(), z.string()).optional(),
    }),
  },
}

type ReadOptions = Partial<Omit<LoadOptions, 'cwd'>>

/** Writes a routes.yaml into a new folder, which is removed after the test. Returns the folder. */
export async function writeConfig(t: TestContext, text: string | Uint8Array): Promise<string> {
  const cwd = temporaryDir(t)
  await writeFile(join(cwd, 'routes.yaml'), text)
  return cwd
}

/** Reads a configuration from a text, with `options` of `readConfig`. */
export async function read(t: TestContext, text: string | Uint8Array, options: ReadOptions = {}) {
  const cwd = await writeConfig(t, text)
  return { cwd, ...(await readConfig({ env: {}, cwd, transports, ...options })) }
}

/** `line:column message` of each problem of this severity. */
export function textsOf(problems: readonly Problem[], severity: Problem['severity'] = 'error'): string[] {
  return problems
    .filter((problem) => problem.severity === severity)
    .map(({ line, column, message }) => (line === undefined ? message : `${line}:${column} ${message}`))
}
