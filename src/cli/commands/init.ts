import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { configPath } from '../../config/load-config.ts'
import { pathGet } from '../../core/json.ts'
import { type AddCommand, usage } from '../command.ts'
import { ownFile } from '../environs.ts'
import { show } from '../terminal.ts'
import { codeSkill } from './skill.ts'

/** `trivium init`. */
export const addInit: AddCommand = (program, context) => {
  program
    .command('init')
    .description('make a project in this folder: routes.yaml, a skill, what editors need; never overwrites')
    .action(async () => {
      const { cwd, env, path, version } = context.environs()
      const target = configPath(cwd, env, path)
      const dir = dirname(target)
      const files = Object.entries(projectFiles(basename(dir), version))
      // Whoever has skills needs no first one.
      const wanted = existsSync(join(dir, 'skills')) ? files.filter(([file]) => file !== SKILL) : files
      const made: string[] = []
      const kept: string[] = []
      for (const [file, text] of [['', readFileSync(ownFile('routes.yaml'), 'utf8')] as const, ...wanted]) {
        const place = file ? join(dir, file) : target
        const isNew = await makeFile(place, text)
        ;(isNew ? made : kept).push(place)
      }
      show(context.terminal(), { made, kept }, () =>
        [
          ...made.map((place) => `made  ${place}`),
          ...kept.map((place) => `kept  ${place} (was there already)`),
          '',
          'Next:',
          made.includes(join(dir, 'package.json'))
            ? '  npm install                        so that editors and `npm run check` know `trivium`'
            : '  npm pkg set type=module && npm install --save-dev typescript @types/node    the same',
          '  npx trivium start                  run it',
          '  npx trivium message cli "hello"    in a second terminal: talk to it',
          '  npx trivium doctor                 is everything as it should be?',
        ].join('\n'),
      )
    })
}

/** Resolves with whether it was made; false where it is there already. Throws `usage` where it cannot be written. */
async function makeFile(path: string, text: string): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (cause) {
    if (pathGet(cause, 'code') === 'EEXIST') return false
    throw usage(`${path} cannot be written: ${cause}`, cause)
  }
}

const SKILL = 'skills/hello/index.ts'

/** The files beside routes.yaml, by their paths. */
function projectFiles(folder: string, version: string): Record<string, string> {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  return {
    [SKILL]: codeSkill('hello'),
    'package.json': json({
      name: name || 'my-trivium',
      private: true,
      type: 'module',
      scripts: { start: 'trivium start', check: 'tsc && trivium routes check' },
      dependencies: { trivium: `^${version}` },
      devDependencies: { '@types/node': '^26.0.0', typescript: '^7.0.0' },
    }),
    'tsconfig.json': json({
      compilerOptions: {
        target: 'esnext',
        module: 'preserve',
        types: ['node'],
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        erasableSyntaxOnly: true,
      },
      include: ['skills'],
    }),
    '.env.example': ENV_EXAMPLE,
    '.gitignore': 'node_modules/\n.trivium/\n.env\n',
  }
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

const ENV_EXAMPLE = `# Copy this to .env and fill in what you use; gateways with \`enabled: auto\` start once theirs is set.
# The daemon reads .env itself. Keep it out of git.

# TRIVIUM_TOKEN=            the control token; without it the daemon makes one
# REDIS_URL=                redis://127.0.0.1:6379: the store in Redis
# GITHUB_WEBHOOK_SECRET=
# SLACK_BOT_TOKEN=
# SLACK_APP_TOKEN=
# IMAP_HOST=
# SMTP_HOST=
# IMAP_USER=
# IMAP_PASS=
# ANTHROPIC_API_KEY=
`
