// npm run docs             writes the generated pages and pictures of docs/, and builds the site into
//                          docs/.vitepress/dist
// npm run docs -- --serve  serves the site, and updates it while you edit
// npm run docs -- --pages  only writes the pages and pictures
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { generatedPages } from './docs/generated.ts'

for (const [name, text] of Object.entries(await generatedPages())) {
  const file = join('docs', name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
console.log('✔ wrote the generated files of docs')

if (!process.argv.includes('--pages')) {
  const command = process.argv.includes('--serve') ? 'dev' : 'build'
  const { status } = spawnSync('node_modules/.bin/vitepress', [command, 'docs'], { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
