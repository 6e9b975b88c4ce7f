import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { freePorts } from '../fixtures/redis-server.ts'
import { type Block, placeOf, root } from './blocks.ts'
import { type Placed, placeCode, snippetName } from './code.ts'
import { MERGE, quote, serveCommands } from './commands.ts'
import { hasShape, runBlocks } from './shell.ts'
import type { Workshop } from './workshop.ts'
import { type World, worlds } from './worlds.ts'
import { mappingOf, merged, partOf, valuesForVariables } from './yaml.ts'

/**
 * Runs the blocks of a page in a project of its own, made by `trivium init`: saves the files that
 * the page names, starts a daemon with them, and runs the shell blocks in order in one bash. On a
 * page that runs `trivium init` itself, the blocks do all of this with the installed package.
 */
export async function runPage(page: string, given: readonly Block[], workshop: Workshop): Promise<void> {
  const own = worlds[page] ?? {}
  const dir = join(workshop.dir, basename(page, '.md').toLowerCase())
  mkdirSync(dir)
  const servers = await own.servers?.()
  const [port = 0, control = 0, receiver = 0] = await freePorts(3)
  const replacements = {
    '127.0.0.1:8080': `127.0.0.1:${port}`,
    '127.0.0.1:8787': `127.0.0.1:${control}`,
    '127.0.0.1:9000': `127.0.0.1:${receiver}`,
    "9000, '127.0.0.1'": `${receiver}, '127.0.0.1'`,
    ...servers?.replacements,
  }
  const world = { ...own, ...withReplacements(own, replacements) }
  const blocks = given.map((block) => ({ ...block, code: replaced(block.code, replacements) }))
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: dir,
    TRIVIUM_LISTEN: replacements['127.0.0.1:8080'],
    TRIVIUM_CONTROL_LISTEN: replacements['127.0.0.1:8787'],
    ...valuesForVariables(blocks.map(({ code }) => code).join('\n')),
    ...own.env,
  }
  writeFileSync(join(dir, '.curlrc'), 'fail-with-body\nsilent\nmax-time = 30\n')
  const runsInit = blocks.some(({ language, code }) => language === 'sh' && code.includes('trivium init'))
  const socket = join(dir, 'commands.sock')
  const commands = await serveCommands({ bin: workshop.bin, socket, env, startsProcess: runsInit })
  const trivium = async (...words: string[]) => {
    const { code, out, err } = await commands.run(words, dir)
    assert.equal(code, 0, `${page}: trivium ${words.join(' ')}\n${out}${err}`)
    return out
  }
  const shell = blocks
    .map(asShell(world, runsInit))
    .filter(({ language }) => language === 'sh')
    .map(completed(world))
  try {
    const placed = placeAll(blocks, world)
    if (!runsInit) {
      await trivium('init')
      save(dir, placed, blocks, world)
      workshop.typed.push(
        ...globSync(['skills/**/*.ts', '*.ts'], { cwd: dir }).map((file) => join(dir, file)),
      )
      await trivium('route', 'check')
    }
    const runs = placed.filter(({ runner }) => runner === 'message')
    if ((shell.length > 0 || runs.length > 0) && !runsInit) await trivium('start')
    const begin = `${commands.prelude}\n${world.prepare ?? ''}`
    const outputs = await runBlocks({ blocks: shell, begin, cwd: dir, env })
    compareOutputs(blocks.map(asShell(world, runsInit)), [...outputs.values()])
    for (const { path } of runs) {
      const name = basename(dirname(path))
      await trivium('message', 'cli', name, '--wait', '0')
      // `placeCode` appended a `state-set` to the snippet.
      assert.match(await trivium('state-wait', '--key', name), /done/, `${page}: ${name}`)
    }
    for (const { path } of placed.filter(({ runner }) => runner === 'node')) {
      const { status, stderr } = spawnSync(process.execPath, [path], { cwd: dir, env, encoding: 'utf8' })
      assert.equal(status, 0, `${page}: ${path}\n${stderr}`)
    }
    if (!runsInit) assert.doesNotMatch(await trivium('skill', 'list'), BROKEN_SKILLS, page)
  } finally {
    const codes = await commands.close()
    await servers?.close()
    assert.ok(
      codes.every((code) => code === 0),
      `${page}: the daemon ended with ${codes}`,
    )
  }
}

/** The heading of the broken skills in `skill list`. */
const BROKEN_SKILLS = /^broken +path/m

/** The files that the page names, and those that are made of its other blocks. */
function placeAll(blocks: readonly Block[], { testOfLanguage }: World): Placed[] {
  return blocks.flatMap((block): Placed[] => {
    const { language, code, saveAs, line } = block
    if (testOfLanguage?.[language]) return []
    if (language === 'ts') return [placeCode(block)]
    if (language === 'markdown' && saveAs) return [{ path: saveAs, text: code, runner: 'none' }]
    if (language === 'markdown')
      return [
        {
          path: `skills/${/^name: (.*)$/m.exec(code)?.[1] ?? line}/SKILL.md`,
          text: code,
          runner: 'none',
        },
      ]
    if (['json', 'js', 'python'].includes(language) && saveAs)
      return [{ path: saveAs, text: code, runner: 'none' }]
    const cases = language === 'yaml' ? /^# (\S+\/cases\.yaml)$/m.exec(code)?.[1] : undefined
    if (cases !== undefined) return [{ path: cases, text: code, runner: 'none' }]
    if (language !== 'yaml' || partOf(code).kind !== 'front-matter') return []
    const name = snippetName(block)
    const text = `---\nname: ${name}\ndescription: A snippet.\n${code}---\nHello.\n`
    return [{ path: `skills/${name}/SKILL.md`, text, runner: 'none' }]
  })
}

function save(dir: string, placed: readonly Placed[], blocks: readonly Block[], world: World): void {
  const skills = Object.entries(world.skills ?? {}).map(([name, text]) => ({
    path: `skills/${name}/index.ts`,
    text,
  }))
  const files = Object.entries(world.files ?? {}).map(([path, text]) => ({ path, text }))
  for (const { path, text } of [...placed, ...skills, ...files]) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  const file = join(dir, 'routes.yaml')
  const parts = blocks
    .filter(({ language, code }) => language === 'yaml' && world.configurationBlocks?.test(code))
    .map(({ code }) => partOf(code))
  const runs = placed.filter(({ runner }) => runner === 'message').map(({ path }) => basename(dirname(path)))
  const more = [
    ...parts.flatMap((part) => (part.kind === 'configuration' ? [part.value] : [])),
    ...(world.routes ? [mappingOf(world.routes)] : []),
    { routes: runs.map((name) => ({ name, match: { gateway: 'cli', text: name }, skill: name })) },
  ]
  writeFileSync(file, stringify(more.reduce(merged, mappingOf(readFileSync(file, 'utf8')))))
}

/**
 * Checks the files of all pages by the settings of a project, with the types that the package has.
 */
export function checkTypes({ dir, typed, write }: Workshop): void {
  assert.ok(typed.length > 0)
  write(
    'tsconfig.json',
    JSON.stringify({ extends: './node_modules/trivium/project/tsconfig.json', files: typed }),
  )
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  const { status, stdout } = spawnSync(tsc, ['-p', 'tsconfig.json'], { cwd: dir, encoding: 'utf8' })
  assert.equal(status, 0, stdout)
}

/**
 * Turns a chat into commands. On a page that runs `trivium init`, it also turns files to save and
 * additions to routes.yaml into commands.
 */
function asShell({ configurationBlocks }: World, runsInit: boolean) {
  return (block: Block): Block => {
    const { attributes, code, language } = block
    if (attributes.has('chat')) {
      const lines = code.trim().split('\n')
      return {
        ...block,
        language: 'sh',
        code: lines.map((line) => `trivium message cli "${line}"\n`).join(''),
      }
    }
    if (runsInit && block.saveAs !== undefined) {
      const save = `mkdir -p ${quote(dirname(block.saveAs))} && printf %s ${quote(code)} > ${quote(block.saveAs)}`
      return { ...block, language: 'sh', code: `${save}\ntrivium reload\n` }
    }
    if (!runsInit || language !== 'yaml' || !configurationBlocks?.test(code)) return block
    const part = partOf(code)
    if (part.kind !== 'configuration') return block
    return {
      ...block,
      language: 'sh',
      code: `trivium ${MERGE} ${quote(stringify(part.value))}\ntrivium reload\n`,
    }
  }
}

/** Replaces the placeholders of a block, and adds what runs before it. */
function completed({ placeholders = {}, before = {} }: World) {
  return (block: Block): Block => {
    const entry = Object.entries(before).find(([text]) => block.code.includes(text))
    const preparation = entry?.[1] ?? ''
    return { ...block, code: preparation + replaced(block.code, placeholders) }
  }
}

/** The routes and preparation of a page with the replacements of this run. */
function withReplacements({ routes, prepare }: World, replacements: Readonly<Record<string, string>>): World {
  return {
    ...(routes === undefined ? {} : { routes: replaced(routes, replacements) }),
    ...(prepare === undefined ? {} : { prepare: replaced(prepare, replacements) }),
  }
}

function replaced(text: string, pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs).reduce((all, [from, to]) => all.replaceAll(from, to), text)
}

/** Checks that each ```text output block has the output of the shell block before it. */
function compareOutputs(blocks: readonly Block[], outputs: readonly string[]): void {
  let ran = -1
  for (const block of blocks) {
    if (block.language === 'sh') ran += 1
    if (!block.attributes.has('output')) continue
    assert.ok(hasShape(outputs[ran] ?? '', block.code), `${placeOf(block)} differs from:\n${outputs[ran]}`)
  }
}
