// The package as users install it: packed by npm, and installed into an empty project.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, normalize } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { builtPackage } from '../../ops/tests/built-package.ts'
import { PARTS, type Part } from '../../src/core/parts.ts'
import { atTerminal, HAS_TERMINAL } from '../fixtures/at-terminal.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { startQueueWorker } from '../fixtures/queue-worker.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { startSlackServer } from '../fixtures/slack-server.ts'
import { until } from '../fixtures/until.ts'

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

/** Scripts that npm runs when the package is installed. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish']

/**
 * Limits of an installation without the optional parts. With them it is more than twice as large.
 */
const MAXIMUM = { packages: 260, megabytes: 110 }

/** A routes.yaml that needs the part, and what in it needs it. */
const NEEDS: [part: Part, routes: string, neededBy: string][] = [
  [
    'slack',
    'gateways: { team: { transport: slack, mode: socket, bot-token: xoxb-1, app-token: xapp-1 } }',
    'gateway team',
  ],
  ['model', 'model: openai:gpt', '`model`'],
  ['mcp', 'mcp: { files: { command: npx } }', 'MCP server files'],
  ['queues', 'routes: [{ name: jobs, queue: jobs }]\nqueues: { redis: "redis://127.0.0.1:1" }', 'route jobs'],
]

/**
 * Share of indirect packages that may be newer than the tested ones, since they have new releases.
 */
const MAX_NEWER = 0.1

describe('the package', { timeout: 600_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-package-'))
  const project = join(dir, 'project')
  const installed = join(project, 'node_modules', 'trivium')
  const bin = join(installed, 'bin', 'trivium.js')
  before(async () => {
    const clone = join(dir, 'clone')
    const tracked = run('git', ['ls-files', '-co', '--exclude-standard'], root).out.trim().split('\n')
    for (const file of tracked.filter((name) => existsSync(join(root, name)))) {
      mkdirSync(dirname(join(clone, file)), { recursive: true })
      cpSync(join(root, file), join(clone, file))
    }
    // What `prepack` does, with the packages of this clone.
    cpSync(join(await builtPackage(), 'dist'), join(clone, 'dist'), { recursive: true })
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

  test('has the routes.yaml of new projects, but not that of the clone', () => {
    const found = globSync('**/routes.yaml', { cwd: installed, exclude: ['node_modules'] }).sort()
    assert.deepEqual(found, ['project/demo/routes.yaml', 'project/routes.yaml'])
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

  test('is installed with the packages that were tested', () => {
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
    assert.ok(newer.length < others.length * MAX_NEWER, list.join('\n'))
  })

  test('is installed without optional parts, and stays within its limits of size', () => {
    const found = lockSchema.parse(
      JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')),
    ).packages
    const names = Object.values(PARTS).flatMap(({ packages }): readonly string[] => packages)
    assert.deepEqual(
      names.filter((name) => found[`node_modules/${name}`]),
      [],
    )
    const packages = Object.keys(found).length - 1
    assert.ok(packages <= MAXIMUM.packages, `${packages} packages`)
    const megabytes = sizeOf(join(project, 'node_modules')) / 1e6
    assert.ok(megabytes <= MAXIMUM.megabytes, `${megabytes.toFixed(1)} MB`)
  })

  test('has types that need no optional part', () => {
    const file = join(project, 'uses.mts')
    writeFileSync(
      file,
      "import { createStateManager, defineSkill, z } from 'trivium'\nexport { createStateManager, defineSkill, z }\n",
    )
    const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node']
    const flags = '--noEmit --strict --skipLibCheck false --module nodenext --target esnext'.split(' ')
    const { out } = run(join(root, 'node_modules/.bin/tsc'), [...flags, ...types, file], project)
    assert.equal(out, '')
  })

  test('makes a valid project by `trivium init`', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.equal(run(process.execPath, [bin, '--version'], project).out, `${version}\n`)
    assert.equal(run(process.execPath, [bin, 'init', 'mine'], project).code, 0)
    const [tarball = ''] = globSync('*.tgz', { cwd: dir })
    const mine = join(project, 'mine')
    const { dependencies } = JSON.parse(readFileSync(join(mine, 'package.json'), 'utf8'))
    assert.equal(dependencies.trivium, `file:${join(dir, tarball)}`)
    rmSync(mine, { recursive: true })
    assert.equal(run(process.execPath, [bin, 'init'], project).code, 0)
    const checked = run(process.execPath, [bin, 'route', 'check'], project)
    assert.equal(checked.code, 0, checked.out + checked.err)
  })

  for (const [how, command] of [
    ['npx', ['npx', '--no', 'trivium', 'start']],
    ['npm', ['npm', 'start']],
  ] as const) {
    test(`drains if it was started by ${how}, and ${how} gets SIGTERM`, async (t) => {
      const dataDir = join(project, `data-${how}`)
      const mine = join(project, `by-${how}`)
      assert.equal(run(process.execPath, [bin, 'init', mine], project).code, 0)
      const env = {
        ...process.env,
        PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
        TRIVIUM_DATA_DIR: dataDir,
        TRIVIUM_LISTEN: '127.0.0.1:0',
        TRIVIUM_CONTROL_LISTEN: '127.0.0.1:0',
      }
      const [file, ...args] = command
      const child = spawn(file, args, { cwd: mine, env, stdio: ['ignore', 'ignore', 'pipe'] })
      let output = ''
      child.stderr.on('data', (text) => (output += text))
      const ended = once(child.stderr, 'end')
      const place = join(dataDir, 'daemon.json')
      await until(() => existsSync(place), 'a daemon that is ready')
      const { pid } = JSON.parse(readFileSync(place, 'utf8'))
      t.after(() => {
        if (isAlive(pid)) process.kill(pid, 'SIGKILL')
      })
      child.kill('SIGTERM')
      await ended
      assert.match(output, /drained; nothing acknowledged is lost/)
      await until(() => !isAlive(pid), 'the end of the daemon')
    })
  }

  test('runs webhooks, mail, WebSocket and the command line without optional parts', async () => {
    const mail = 'host: 127.0.0.1, port: 1, user: me, pass: x, tls: none'
    const routes = `
gateways:
  hooks: { transport: webhook, path: /hook }
  app: { transport: websocket, path: /ws, open: true }
  mail: { transport: email, address: me@example.com, open: true, imap: { ${mail} }, smtp: { ${mail} } }
routes: [{ name: rest, skill: echo }]`
    const site = openSite({ routes, ownProcess: true, bin })
    const daemon = await site.start()
    const { status } = await fetch(`${daemon.url}/hook`, { method: 'POST', body: '{"a":1}' })
    assert.equal(status, 202)
    const chat = await daemon.chat()
    assert.match(await chat.ask('hello'), /hello/)
    chat.close()
    assert.match((await site.run(['message', 'cli', 'good morning'])).out, /good morning/)
    const page = await (await fetch(daemon.control)).text()
    const files = [...page.matchAll(/\s(?:href|src)="(\/console\/[^"]+)"/g)].map(([, path = '']) => path)
    assert.equal(files.length, 4, 'the console is bundled')
    for (const path of files) assert.equal((await fetch(daemon.control + path)).status, 200, path)
    const licenses = readFileSync(join(installed, 'dist', 'src', 'console', 'LICENSES'), 'utf8')
    for (const name of ['preact', 'htm', 'uplot']) assert.match(licenses, new RegExp(`^${name}$`, 'm'))
    // A feature of a missing part says so.
    const mcp = await fetch(`${daemon.control}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: '{}',
    })
    assert.equal(mcp.status, 501)
    assert.match(await mcp.text(), /"part_missing".*npm install @modelcontextprotocol/)
  })

  for (const [part, routes, neededBy] of NEEDS) {
    test(`refuses to start without the part ${part} that it needs, with the command to install it`, async () => {
      const site = openSite({ routes, bin })
      const { code, err } = await site.run(['start'])
      assert.equal(code, 2)
      const [name = ''] = PARTS[part].packages
      const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      assert.ok(err.includes(`The part ${part} is not installed (needed by ${neededBy})`), err)
      assert.ok(err.includes(`npm install ${name}@${devDependencies[name]}`), err)
      const doctor = run(process.execPath, [bin, 'doctor'], site.dir)
      assert.match(doctor.out, new RegExp(`✗ +part ${part} `))
      const checked = run(process.execPath, [bin, 'route', 'check'], site.dir)
      assert.equal(checked.code, 0, checked.out + checked.err)
    })
  }

  test('refuses to start without the part model if a skill names a model', async () => {
    const site = openSite({ routes: 'gateways: {}\n', bin })
    site.write('skills/greet/SKILL.md', '---\ndescription: Greets.\nmodel: openai:gpt\n---\nGreet them.\n')
    const { code, err } = await site.run(['start'])
    assert.equal(code, 2)
    assert.ok(err.includes('The part model is not installed (needed by skill greet)'), err)
  })

  test('has a part after a yes at a terminal', { skip: !HAS_TERMINAL }, async () => {
    const site = openSite({ routes: 'model: "openai:gpt"\nroutes: [{ name: rest, skill: echo }]\n', bin })
    const { code, shown } = await atTerminal(`'${process.execPath}' '${bin}' doctor`, {
      question: 'Install now? (y/N)',
      answer: 'y',
      cwd: site.dir,
      env: { ...environment(), OPENAI_API_KEY: 'sk-0123456789' },
    })
    assert.match(shown, /The part model is not installed .*npm install ai@.*added \d+ packages/s)
    assert.doesNotMatch(shown, /✗ +part/)
    assert.match(
      run(process.execPath, [bin, 'parts', 'install', 'model'], site.dir).out,
      /Nothing to install/,
    )
    assert.equal(code, 0, shown)
  })

  test('uses parts after `trivium parts install`', async (t) => {
    const redis = await startRedisServer()
    const model = await startOpenAiServer([{ text: 'Good morning.' }])
    const slack = await startSlackServer()
    t.after(() => Promise.all([redis.stop(), model.close(), slack.close()]))
    const skill = '---\ndescription: Greets.\n---\nGreet them.\n'
    const site = openSite({ routes: everyPart(redis.url, model.url, slack.apiUrl), ownProcess: true, bin })
    site.write('skills/greet/SKILL.md', skill)
    site.write('tools.json', '[]')
    const installing = run(process.execPath, [bin, 'parts', 'install', 'mcp', '--json'], site.dir)
    assert.equal(installing.code, 0, installing.err)
    assert.deepEqual(JSON.parse(installing.out), { installed: ['mcp'] })
    // The others are links, since npm would take minutes to install them.
    for (const name of [PARTS.slack, PARTS.model, PARTS.queues].flatMap(
      ({ packages }): readonly string[] => packages,
    )) {
      if (existsSync(join(project, 'node_modules', name))) continue
      mkdirSync(dirname(join(project, 'node_modules', name)), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
    }
    const repeated = run(process.execPath, [bin, 'parts', 'install'], site.dir)
    assert.match(repeated.out, /Nothing to install/)

    const daemon = await site.start()
    assert.match((await site.run(['message', 'cli', 'hello'])).out, /Good morning/)
    const worker = await startQueueWorker(redis.url, 'jobs')
    t.after(() => worker.kill())
    await site.run(['message', 'cli', 'a job', '--wait', '0'])
    await until(() => worker.begun().length === 1, 'the job of a message')
    await until(() => slack.calls.some(({ method }) => method === 'auth.test'), 'a call of Slack')
    await until(
      async () => /"state": *"up"/.test((await site.run(['mcp', 'list', '--json'])).out),
      'the MCP server',
    )
    const answer = await fetch(`${daemon.control}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${daemon.token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'test', version: '1' },
        },
      }),
    })
    assert.equal(answer.status, 200)
    assert.match(await answer.text(), /"protocolVersion"/)
  })
})

/** A routes.yaml that uses every part but tracing. */
const everyPart = (redis: string, model: string, slack: string) => `
gateways: { team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack}" } }
model: { name: "openai-compatible:tiny", base-url: "${model}", api-key: "test-key-123456" }
mcp: { files: { command: "${process.execPath}", args: ["${join(root, 'test/fixtures/mcp-server.mjs')}", tools.json] } }
queues: { redis: "${redis}" }
routes:
  - { name: jobs, match: { text: "*job*" }, queue: jobs }
  - { name: rest, skill: greet }`

/** Without the setting with which the tests themselves may have been installed. */
function environment(): NodeJS.ProcessEnv {
  const { npm_config_ignore_scripts: _, ...env } = process.env
  return env
}

function run(command: string, args: readonly string[], cwd: string) {
  const env = environment()
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  return { code: status, out: stdout ?? '', err: error?.message ?? stderr }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The relative paths in the links and images of a page. */
function filesIn(text: string): string[] {
  const links = text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)
  return [...links]
    .map(([, link, image]) => link ?? image ?? '')
    .filter((link) => !/^([a-z]+:|#)/.test(link))
    .map((link) => link.replace(/#.*/, ''))
}

/** The bytes of the files in a folder. */
function sizeOf(folder: string): number {
  const files = globSync('**/*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}
