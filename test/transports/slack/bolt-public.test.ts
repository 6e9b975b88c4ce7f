// Public samples of Bolt, as they are: TRIVIUM_BOLT_SAMPLES names a folder with clones of them, as `<owner>+<name>`, beside a
// `node_modules` with @slack/bolt 5, dotenv and openai. Without it there is nothing to run.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openSite } from '../../fixtures/daemon.ts'
import { serveHttp } from '../../fixtures/http-server.ts'
import { battery, deliverAll, differences, namesIn } from './bolt-battery.ts'
import { type Alone, observe, routesFor } from './bolt-harness.ts'

const LAMBDA = fileURLToPath(new URL('../../fixtures/slack-lambda-runner.mjs', import.meta.url))
const ROOT = process.env.TRIVIUM_BOLT_SAMPLES ?? ''

/** Of a model that is away both tell in the same way. */
const NO_MODEL = { OPENAI_API_KEY: 'test', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }

/** A listener that throws before its `ack` is tried again behind Trivium, so the person sees no error of Slack. */
const THROWS = /by "not acknowledged" alone, and by null behind Trivium/

type Sample = {
  known?: RegExp
  entry: string
  alone?: Alone
  isHttp?: boolean
  env?: Record<string, string>
}

/** The file that a route names, and how it is run by Bolt alone where that differs: TypeScript is compiled before. */
const SAMPLES: Record<string, Sample> = {
  'slack-samples+bolt-js-starter-template': { entry: 'app.js' },
  'slack-samples+bolt-ts-starter-template': { entry: 'app.ts', alone: { file: 'dist/app.js' } },
  'slack-samples+bolt-ts-custom-function-template': { entry: 'app.ts', alone: { file: 'dist/app.js' } },
  'slack-samples+bolt-js-assistant-template': { entry: 'app.js', env: NO_MODEL },
  'slack-samples+bolt-js-custom-step-template': { entry: 'app.js', known: THROWS },
  'slack-samples+bolt-js-getting-started-app': { entry: 'app.js' },
  'slack-samples+bolt-js-search-template': { entry: 'app.js' },
  'slack-samples+bolt-js-blank-template': { entry: 'app.js' },
  'slackapi+bolt-js/examples/socket-mode': { entry: 'app.js' },
  'slackapi+bolt-js/examples/custom-properties': { entry: 'socket-mode.js' },
  'slackapi+bolt-js/examples/message-metadata': { entry: 'app.js' },
  'slackapi+bolt-js/examples/deploy-heroku': { entry: 'app.js', isHttp: true },
  'slackapi+bolt-js/examples/deploy-aws-lambda': {
    entry: 'app.js',
    isHttp: true,
    alone: { runner: LAMBDA },
    known: THROWS,
  },
  'slackapi+bolt-js/examples/getting-started-typescript': {
    entry: 'src/app.ts',
    isHttp: true,
    alone: { file: 'dist/app.js' },
  },
}

describe('public samples of Bolt do behind Trivium what they do alone', () => {
  for (const [name, { entry, alone = {}, isHttp = false, env = {}, known }] of Object.entries(SAMPLES)) {
    const folder = join(ROOT, name)
    const file = join(folder, entry)
    test(name, { skip: ROOT === '' || !existsSync(file) }, async (t) => {
      const own = alone.file === undefined ? {} : { file: join(folder, alone.file) }
      const http = isHttp ? { port: await freePort() } : {}
      const sources = globSync('**/*.{js,ts}', { cwd: folder, exclude: (at) => /node_modules|dist/.test(at) })
      const names = namesIn(sources.map((at) => readFileSync(join(folder, at), 'utf8')).join('\n'))
      const seen = await observe(
        t,
        (_, slack, attempt) => deliverAll(attempt, slack, battery(slack, names)),
        (slack) => {
          // What a listener throws is tried again behind Trivium; here it is counted once.
          const routes = routesFor(slack, file).replace('attempts: 4', 'attempts: 1')
          return { site: openSite({ routes, env: { SLACK_SIGNING_SECRET: 'any', ...env } }), file }
        },
        { ...alone, ...own, ...http, env },
      )
      t.diagnostic(`${seen.alone.said.length} payloads, ${seen.alone.calls.length} calls`)
      const found = differences(seen.alone, seen.hosted)
      assert.deepEqual(
        found.filter((one) => !known?.test(one)),
        [],
      )
    })
  }
})

async function freePort(): Promise<number> {
  const { port, close } = await serveHttp((_, response) => void response.end())
  await close()
  return port
}
