// For an image with all parts: turns the optional peer dependencies into dependencies, in
// package.json and package-lock.json of the working directory, so that `npm ci --omit=dev` installs
// them in the versions of the lock file.
import { readFileSync, writeFileSync } from 'node:fs'

const read = (file) => JSON.parse(readFileSync(file, 'utf8'))
const write = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
const lock = read('package-lock.json')
const parts = Object.keys(lock.packages[''].peerDependencies)

/**
 * The path of a package in the lock file, as Node resolves it for code in `from`: in the nearest
 * node_modules.
 */
function placeOf(name, from) {
  for (let at = from; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    const place = `${at ? `${at}/` : ''}node_modules/${name}`
    if (lock.packages[place]) return place
    if (!at) return undefined
  }
}

/** Marks a package, and what it depends on, as needed in production. */
function keep(place) {
  const entry = lock.packages[place]
  if (!entry || entry.isKept) return
  delete entry.dev
  delete entry.devOptional
  // Not enumerable, so that JSON leaves it out.
  Object.defineProperty(entry, 'isKept', { value: true, enumerable: false })
  const {
    dependencies = {},
    optionalDependencies = {},
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = entry
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
  for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers])
    keep(placeOf(name, place))
}

for (const name of parts) keep(placeOf(name, ''))
// Packages in the lock file that are optional peers of others (TypeScript) would be installed.
for (const [place, { dev }] of Object.entries(lock.packages)) if (dev) delete lock.packages[place]
const manifest = read('package.json')
for (const root of [manifest, lock.packages['']]) {
  for (const name of parts) root.dependencies[name] = root.devDependencies[name]
  for (const key of ['devDependencies', 'peerDependencies', 'peerDependenciesMeta']) delete root[key]
}
write('package.json', manifest)
write('package-lock.json', lock)
