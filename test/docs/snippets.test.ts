// Every code block of the README and of docs/ is run or checked as it is. A block that cannot run
// here says why in its first line (```sh no-run="why"), and is still parsed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { validate } from 'dockerfile-utils'
import { parseDocument } from 'yaml'
import { parseDotenv } from '../../src/config/dotenv.ts'
import { type Block, blocksOf, pages, placeOf, root } from './blocks.ts'
import { commandProblem } from './command-lines.ts'
import { checkTypes, runPage } from './page.ts'
import { bashProblem } from './shell.ts'
import { createWorkshop, type Workshop } from './workshop.ts'
import { worlds } from './worlds.ts'
import { yamlProblem } from './yaml.ts'

/**
 * Blocks that cannot run here. Raise it only for a block that needs something no developer machine
 * has: most of them need root and systemd, Docker or Kubernetes, and the others an account or
 * another program.
 */
const MAX_NOT_RUN = 24

const LANGUAGES = 'sh yaml ts js json python bash markdown dotenv dockerfile redis text'.split(' ')
const ATTRIBUTES: Record<string, readonly string[]> = { text: ['output', 'diagram', 'chat'] }

/** A page with a block in one of these languages is run in a project of its own. */
const RUN_HERE = ['sh', 'ts', 'markdown']

const blocks = pages.flatMap(blocksOf)
const isRun = ({ attributes }: Block) => !attributes.has('no-run')

/** What is wrong with the first line of a block, if anything. */
function problemOf({ language, attributes }: Block): string | undefined {
  if (!LANGUAGES.includes(language)) return language || 'no language'
  const known = [...(ATTRIBUTES[language] ?? []), 'no-run']
  const unknown = [...attributes.keys()].filter((name) => !known.includes(name))
  if (unknown.length > 0) return unknown.join()
  if (language === 'text' && attributes.size === 0) return 'output, chat or diagram?'
  return attributes.get('no-run') === '' ? 'no reason' : undefined
}

describe('the code blocks of the docs', { timeout: 600_000 }, () => {
  let workshop: Workshop
  before(async () => {
    workshop = await createWorkshop()
  })
  after(() => workshop.remove())

  test('have a known language, and a reason if they do not run', () => {
    const wrong = blocks.flatMap((block) => {
      const problem = problemOf(block)
      return problem === undefined ? [] : [`${placeOf(block)}: ${problem}`]
    })
    assert.deepEqual(wrong, [])
    const notRun = blocks.filter((block) => !isRun(block)).map(placeOf)
    assert.ok(notRun.length <= MAX_NOT_RUN, `${notRun.length} blocks do not run:\n${notRun.join('\n')}`)
  })

  test('for a shell are valid bash, and those that do not run have existing commands and options', async () => {
    for (const block of blocks.filter(({ language }) => ['sh', 'bash'].includes(language))) {
      assert.equal(bashProblem(block.code), undefined, placeOf(block))
      if (!isRun(block)) assert.equal(await commandProblem(block.code), undefined, placeOf(block))
    }
  })

  test('in YAML are valid for the daemon', async () => {
    const wrong: string[] = []
    for (const block of blocks.filter(({ language }) => language === 'yaml')) {
      if (!isRun(block)) {
        assert.deepEqual(parseDocument(block.code).errors, [], placeOf(block))
        continue
      }
      const problem = await yamlProblem(block.code, workshop.dir, worlds[block.page])
      if (problem !== undefined) wrong.push(`${placeOf(block)}\n${problem}`)
    }
    assert.deepEqual(wrong, [])
  })

  test('in JSON, Python, JavaScript, Dockerfiles and .env files can be parsed', () => {
    for (const block of blocks) {
      const { code, language } = block
      if (language === 'dotenv') assert.doesNotThrow(() => parseDotenv(code, () => undefined), placeOf(block))
      if (language === 'dockerfile') assert.deepEqual(validate(code), [], placeOf(block))
      if (language === 'json') assert.doesNotThrow(() => JSON.parse(code), placeOf(block))
      const parser = {
        python: ['python3', '-c', 'import ast, sys; ast.parse(sys.stdin.read())'],
        js: [process.execPath, '--check', '--input-type=module', '-'],
      }[language]
      const [command, ...args] = parser ?? []
      if (command === undefined) continue
      const { status, stderr } = spawnSync(command, args, { input: code, encoding: 'utf8' })
      assert.equal(status, 0, `${placeOf(block)}: ${stderr}`)
    }
  })

  for (const page of pages) {
    const own = blocksOf(page)
    const { testOfLanguage = {} } = worlds[page] ?? {}
    for (const [language, file] of Object.entries(testOfLanguage)) {
      test(`of ${page} in ${language} run in ${file}`, () => {
        assert.ok(readFileSync(join(root, file), 'utf8').includes(page), `${file} does not read ${page}`)
      })
    }
    const here = own.filter((block) => isRun(block) && testOfLanguage[block.language] === undefined)
    if (here.some(({ language }) => RUN_HERE.includes(language))) {
      test(`of ${page} run in order`, () => runPage(page, here, workshop))
    }
  }

  test('have the types of the package', () => checkTypes(workshop))
})
