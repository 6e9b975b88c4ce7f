// `npm run docs`: writes the generated pages of docs/reference and builds the site into
// docs/.vitepress/dist. `npm run docs -- --serve` serves the site and updates it while you edit; `--
// --pages` only writes the pages.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generatedPages } from './docs/generated.ts'

const folder = join('docs', 'reference')
mkdirSync(folder, { recursive: true })
for (const [name, text] of Object.entries(await generatedPages())) writeFileSync(join(folder, name), text)
console.log(`✔ wrote ${folder}`)

if (!process.argv.includes('--pages')) {
  const command = process.argv.includes('--serve') ? 'dev' : 'build'
  const { status } = spawnSync('node_modules/.bin/vitepress', [command, 'docs'], { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
