// The package as somebody installs it: packed by npm, and installed into an empty project.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const root = fileURLToPath(new URL('../..', import.meta.url))
const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      dependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
})

/** npm would run these where somebody installs the package. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish']

/** Packages of packages may be newer than the tested ones by a release that their ranges allow; most are not. */
const MOST_NEWER = 0.1

describe('the package', { timeout: 600_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-package-'))
  const project = join(dir, 'project')
  const installed = join(project, 'node_modules', 'trivium')
  before(() => {
    const clone = join(dir, 'clone')
    const tracked = run('git', ['ls-files', '-co', '--exclude-standard'], root).out.trim().split('\n')
    for (const file of tracked.filter((name) => existsSync(join(root, name)))) {
      mkdirSync(dirname(join(clone, file)), { recursive: true })
      cpSync(join(root, file), join(clone, file))
    }
    // What `prepack` does, with the packages of this clone.
    const built = run(process.execPath, ['ops/build.ts', join(clone, 'dist')], root)
    assert.equal(built.code, 0, built.out)
    assert.equal(run(process.execPath, ['ops/shrinkwrap.mjs'], clone).code, 0)
    const packed = run('npm', ['pack', '--ignore-scripts', '--pack-destination', dir], clone)
    assert.equal(packed.code, 0, packed.err)
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{ "private": true }')
    const [tarball = ''] = globSync('*.tgz', { cwd: dir })
    const flags = ['--omit=dev', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
    const made = run('npm', ['install', ...flags, join(dir, tarball)], project)
    assert.equal(made.code, 0, made.err)
  })
  after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))

  test('has no script that an installation runs', () => {
    const { scripts = {} } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    assert.deepEqual(
      INSTALL_SCRIPTS.filter((name) => Object.hasOwn(scripts, name)),
      [],
    )
  })

  test('has every file that its README and its docs show or link to', () => {
    const pages = globSync(['README.md', 'docs/*.md'], { cwd: installed })
    assert.ok(pages.length > 20)
    const missing = pages.flatMap((page) =>
      filesIn(readFileSync(join(installed, page), 'utf8'))
        .filter((file) => !existsSync(join(installed, normalize(join(dirname(page), file)))))
        .map((file) => `${page}: ${file}`),
    )
    assert.deepEqual(missing, [])
  })

  test('brings the packages that were tested', () => {
    const tested = lockSchema.parse(
      JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')),
    ).packages
    const found = lockSchema.parse(
      JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')),
    ).packages
    for (const name of Object.keys(tested['']?.dependencies ?? {})) {
      const path = `node_modules/${name}`
      assert.equal(found[path]?.version, tested[path]?.version, name)
    }
    const others = Object.entries(found).filter(([path]) => path !== '' && path !== 'node_modules/trivium')
    const newer = others.filter(([path, { version }]) => tested[path]?.version !== version)
    const list = newer.map(([path, { version }]) => `${path} ${version}, tested ${tested[path]?.version}`)
    assert.ok(newer.length < others.length * MOST_NEWER, list.join('\n'))
  })

  test('starts in a project of its own', () => {
    const bin = join(installed, 'bin', 'trivium.js')
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.equal(run(process.execPath, [bin, '--version'], project).out, `${version}\n`)
    assert.equal(run(process.execPath, [bin, 'init'], project).code, 0)
    const checked = run(process.execPath, [bin, 'routes', 'check'], project)
    assert.equal(checked.code, 0, checked.out + checked.err)
  })
})

function run(command: string, args: readonly string[], cwd: string) {
  const { npm_config_ignore_scripts: _, ...env } = process.env
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  return { code: status, out: stdout ?? '', err: error?.message ?? stderr }
}

/** The relative paths in the links and images of a page. */
function filesIn(text: string): string[] {
  const links = text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)
  return [...links]
    .map(([, link, image]) => link ?? image ?? '')
    .filter((link) => !/^([a-z]+:|#)/.test(link))
    .map((link) => link.replace(/#.*/, ''))
}
