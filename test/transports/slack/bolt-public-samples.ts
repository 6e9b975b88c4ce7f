import { fileURLToPath } from 'node:url'
import type { PlainRun } from './bolt-harness.ts'

/**
 * A public sample of Bolt: its place, the file for a route, and how Bolt alone runs it if that
 * differs.
 */
export type Sample = {
  repository: string
  /** A folder in the repository. */
  folder?: string
  entry: string
  /** How Bolt alone runs it. Files are relative to the sample's folder. */
  alone?: PlainRun
  isHttp?: boolean
  env?: Record<string, string>
  /** Differences that `docs/internals/compatibility.md` explains. */
  known?: RegExp
}

/** The commits that were tested. */
export const COMMITS: Record<string, string> = {
  'slack-samples/bolt-js-starter-template': 'a813e53ff9c18a70a5d82ce083e353903dbef38b',
  'slack-samples/bolt-ts-starter-template': '5cb94c4fce9bf7049bdc9871d442e6dbebaa0c14',
  'slack-samples/bolt-ts-custom-function-template': '408a30f4e39d2ea7214b6dede81152516f65ec85',
  'slack-samples/bolt-js-assistant-template': '4b5bec7bf0b4d631ed19b589954f2376390a1b89',
  'slack-samples/bolt-js-custom-step-template': '38b69c68e82e993c91c6b71b0e8e6934be7d7cfa',
  'slack-samples/bolt-js-getting-started-app': '90a6570b37eb57aa889094fb0343c212a83494e0',
  'slack-samples/bolt-js-search-template': '300827b9a1c6da8f09a8af1e546763b5bd5ac71b',
  'slack-samples/bolt-js-blank-template': '33d57fd38fc511d8ff8ceb253e513efc385da76b',
  'slackapi/bolt-js': '9a45c3c9a390a4d387fb255f7ac01185a726cc07',
}

const LAMBDA = fileURLToPath(new URL('../../fixtures/slack-lambda-runner.mjs', import.meta.url))

/** A model that cannot be reached, so that both runs report the same failure. */
const NO_MODEL = { OPENAI_API_KEY: 'test', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }

/**
 * Behind Trivium, a listener that throws before its `ack` is run again, so that Slack shows no
 * error.
 */
const THROWS = /by "not acknowledged" alone, and by null behind Trivium/

const template = (name: string, rest: Omit<Sample, 'repository'>): Sample => ({
  repository: `slack-samples/${name}`,
  ...rest,
})

const example = (name: string, rest: Omit<Sample, 'repository'>): Sample => ({
  repository: 'slackapi/bolt-js',
  folder: `examples/${name}`,
  ...rest,
})

/** TypeScript is compiled before Bolt alone runs it. */
export const SAMPLES: readonly Sample[] = [
  template('bolt-js-starter-template', { entry: 'app.js' }),
  template('bolt-ts-starter-template', { entry: 'app.ts', alone: { file: 'dist/app.js' } }),
  template('bolt-ts-custom-function-template', {
    entry: 'app.ts',
    alone: { file: 'dist/app.js' },
    known: THROWS,
  }),
  template('bolt-js-assistant-template', { entry: 'app.js', env: NO_MODEL }),
  template('bolt-js-custom-step-template', { entry: 'app.js', known: THROWS }),
  template('bolt-js-getting-started-app', { entry: 'app.js' }),
  template('bolt-js-search-template', { entry: 'app.js' }),
  template('bolt-js-blank-template', { entry: 'app.js' }),
  example('socket-mode', { entry: 'app.js' }),
  example('custom-properties', { entry: 'socket-mode.js' }),
  example('message-metadata', { entry: 'app.js' }),
  example('deploy-heroku', { entry: 'app.js', isHttp: true }),
  example('deploy-aws-lambda', { entry: 'app.js', isHttp: true, alone: { runner: LAMBDA }, known: THROWS }),
  example('getting-started-typescript', {
    entry: 'src/app.ts',
    isHttp: true,
    alone: { file: 'dist/app.js' },
  }),
]

/** The name of a sample: its repository, and its folder there. */
export const nameOf = ({ repository, folder = '' }: Sample): string =>
  folder === '' ? repository : `${repository}/${folder}`

/** The path of a sample in the folder of all samples. */
export const pathOf = ({ repository, folder = '' }: Sample): string =>
  `${repository.replace('/', '+')}/${folder}`
