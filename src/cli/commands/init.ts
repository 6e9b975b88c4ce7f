import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { configPath } from '../../config/load-config.ts'
import { missingParts, type Needs } from '../../config/needed-parts.ts'
import { pathGet } from '../../core/json.ts'
import type { Part } from '../../core/parts.ts'
import { ownFolder, ownSpec } from '../../lib/packages.ts'
import { type AddCommand, type Environs, ownFile, usage } from '../command.ts'
import { offerParts } from '../install-parts.ts'
import { needsFor } from '../needs.ts'
import { missingIgnores, type Step, stepsInProject } from '../project-steps.ts'
import { show } from '../terminal.ts'

/** Files in `project/`. `.gitignore` and `.env` lack their dot there, or npm would omit them. */
const FILES = ['package.json', 'tsconfig.json', 'env.example', 'gitignore', 'skills/hello/index.ts']

export const addInit: AddCommand = (program, context) => {
  program
    .command('init')
    .argument('[folder]', 'the folder; default: the current one')
    .description(
      'create a project in a folder: routes.yaml, a skill, editor settings; never overwrites files',
    )
    .action(async (folder: string | undefined) => {
      const environs = context.environs()
      const { cwd, env, path } = environs
      // A given folder takes precedence over TRIVIUM_CONFIG.
      const target = folder === undefined ? configPath(cwd, env, path) : resolve(cwd, folder, 'routes.yaml')
      const dir = dirname(target)
      const name = basename(dir)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '-')
        .replace(/^-|-$/g, '')
      // A project that has skills needs no example.
      const files = existsSync(join(dir, 'skills')) ? FILES.slice(0, -1) : FILES
      const places = files.map((file) => [file, join(dir, file.replace(/^(env|gitignore)/, '.$1'))])
      const made: string[] = []
      const kept: string[] = []
      for (const [file = '', place = ''] of [['routes.yaml', target], ...places]) {
        const text = readFileSync(ownFile(`project/${file}`), 'utf8')
          .replace('PROJECT_NAME', name || 'my-trivium')
          .replace('"TRIVIUM_SPEC"', () => JSON.stringify(specFor(dir)))
        const isNew = makeFile(place, text)
        if (isNew) made.push(place)
        else kept.push(place)
      }
      // A routes.yaml from elsewhere may need parts that are not installed.
      const needs = kept.includes(target) ? await needsIn({ ...environs, cwd: dir, path: target }) : {}
      await offerParts(needs, context.terminal())
      const parts = missingParts(needs)
      show(context.terminal(), { made, kept, parts }, () =>
        [
          ...made.map((place) => `made  ${place}`),
          ...kept.map((place) => `kept  ${place} (already existed)`),
          '',
          'Next:',
          ...(folder === undefined ? [] : [`  cd ${folder}`]),
          ...buildHint(),
          ...stepsOf({ dir, isNew: made.includes(join(dir, 'package.json')), parts }),
          ...ignoreHint(kept),
        ].join('\n'),
      )
    })
}

/** The commands from a new project to a first message, with what each is for. */
function stepsOf({ dir, isNew, parts }: { dir: string; isNew: boolean; parts: readonly Part[] }): string[] {
  const install: Step[] = isNew
    ? [['npm install', 'so that editors and `npm run check` know `trivium`']]
    : stepsInProject(dir, specFor(dir))
  const needed: Step[] = [
    ['npx trivium parts install', `routes.yaml needs what is not installed: ${parts.join(', ')}`],
  ]
  const steps: Step[] = [
    ...install,
    ...(parts.length > 0 ? needed : []),
    ['npx trivium start', 'run it'],
    ['npx trivium message cli "hello"', 'in a second terminal: talk to it'],
    ['npx trivium doctor', 'check the installation'],
  ]
  return steps.map(([command, purpose]) => `  ${command.padEnd(33)}  ${purpose}`.trimEnd())
}

/** A warning if a `.gitignore` that already existed lets data or secrets into the repository. */
function ignoreHint(kept: readonly string[]): string[] {
  const file = kept.find((place) => basename(place) === '.gitignore')
  const missing = file === undefined ? [] : missingIgnores(file)
  return missing.length === 0 ? [] : ['', `Add to .gitignore: ${missing.join(', ')}`]
}

/**
 * A hint to build the clone if Trivium runs from one that is not built, since its types are missing
 * until then. Empty otherwise.
 */
function buildHint(): string[] {
  const clone = ownFolder()
  const isUsable = !existsSync(join(clone, 'src')) || existsSync(join(clone, 'dist/src/public.d.ts'))
  return isUsable
    ? []
    : [`  npm --prefix ${clone} run build    the clone, so that it can be used as a package`]
}

/**
 * The version specifier of Trivium in package.json; a tarball within the project by its relative
 * path, so that it can be moved.
 */
function specFor(dir: string): string {
  const spec = ownSpec()
  const prefix = `file:${dir}${sep}`
  return spec.startsWith(prefix) ? `file:${spec.slice(prefix.length)}` : spec
}

/** The optional parts that a routes.yaml needs; empty if it cannot be read. */
async function needsIn(environs: Environs): Promise<Needs> {
  return needsFor(environs).catch(() => ({}))
}

/** Creates a file; returns false if it already exists. Throws `usage` if it cannot be written. */
function makeFile(path: string, text: string): boolean {
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { flag: 'wx' })
    return true
  } catch (cause) {
    if (pathGet(cause, 'code') === 'EEXIST') return false
    throw usage(`${path} cannot be written: ${cause}`, cause)
  }
}
