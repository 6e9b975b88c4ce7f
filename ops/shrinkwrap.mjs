// Writes npm-shrinkwrap.json before `npm pack`, so that an installed Trivium uses exactly the
// tested packages. It is package-lock.json without packages for development. With `remove`, deletes
// it after packing, because npm would use it instead of the lock file.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'

const file = new URL('../npm-shrinkwrap.json', import.meta.url)

if (process.argv[2] === 'remove') rmSync(file, { force: true })
else {
  const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'))
  const packages = Object.entries(lock.packages).filter(([, entry]) => !entry.dev)
  lock.packages = Object.fromEntries(packages)
  delete lock.packages[''].devDependencies
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}
