// Makes `npx trivium` work in a clone without downloading it from the registry: npm links the
// commands of dependencies into node_modules/.bin, but not those of the package itself.
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bin = join(root, 'node_modules', '.bin')

if (existsSync(join(root, 'src')) && existsSync(join(root, 'node_modules'))) {
  mkdirSync(bin, { recursive: true })
  const link = join(bin, 'trivium')
  rmSync(link, { force: true })
  if (process.platform === 'win32') {
    writeFileSync(`${link}.cmd`, '@node "%~dp0\\..\\..\\bin\\trivium.js" %*\r\n')
  } else {
    symlinkSync('../../bin/trivium.js', link)
  }
}
