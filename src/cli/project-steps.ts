import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { attempt } from '../lib/attempt.ts'
import { addCommand } from '../lib/packages.ts'

const packages = z.record(z.string(), z.unknown()).optional().catch(undefined)
const manifestSchema = z.object({ dependencies: packages, devDependencies: packages })

/** A command, and what it is for. */
export type Step = readonly [command: string, purpose: string]

/** With these, editors and `tsc` understand the skills of a project. */
const FOR_EDITORS = ['typescript', '@types/node']

/**
 * The commands that add Trivium to a project that already had a package.json, with what each is
 * for. `spec` is the version specifier of Trivium. The module system of the project does not
 * matter: its skills are TypeScript.
 */
export function stepsInProject(dir: string, spec: string): Step[] {
  const installed = packagesOf(dir)
  const [program = 'npm', add = 'install'] = addCommand(dir)
  const missing = FOR_EDITORS.filter((name) => !installed.has(name))
  const own: Step = installed.has('trivium')
    ? [`${program} install`, 'what package.json names']
    : [`${program} ${add} trivium@${spec}`, '']
  const editors: Step[] = [[`${program} ${add} -D ${missing.join(' ')}`, 'optional: types for editors']]
  return [own, ...(missing.length > 0 ? editors : [])]
}

/** What an existing `.gitignore` lacks: data and secrets, which must not be committed. */
export function missingIgnores(file: string): string[] {
  const lines = (attempt(() => readFileSync(file, 'utf8')) ?? '').split('\n').map((line) => line.trim())
  const has = (name: string) => lines.some((line) => line.replace(/^\//, '').replace(/\/\**$/, '') === name)
  return ['node_modules', '.trivium', '.env'].filter((name) => !has(name))
}

function packagesOf(dir: string): Set<string> {
  const manifest = attempt(() =>
    manifestSchema.parse(JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))),
  )
  return new Set(Object.keys({ ...manifest?.devDependencies, ...manifest?.dependencies }))
}
