// Adds to package-lock.json the optional packages for other platforms that npm left out because the
// current registry does not have them. Without them, `npm ci` refuses the lock file. Each gets the
// exact version that its parent requires; npm skips packages for other platforms.
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))
const PLATFORM =
  /(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)-(arm64|arm|x64|ia32|loong64|mips64el|ppc64|riscv64|s390x)(?:-?(gnu|musl))?/

for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const packagePath = `node_modules/${name}`
    const [, os, cpu, libc] = PLATFORM.exec(name) ?? []
    if (!os || lock.packages[packagePath] || lock.packages[`${path}/${packagePath}`]) continue
    lock.packages[packagePath] = {
      version,
      cpu: [cpu],
      ...(dev ? { dev } : {}),
      ...(libc ? { libc: [libc === 'gnu' ? 'glibc' : 'musl'] } : {}),
      optional: true,
      os: [os],
    }
    console.log(`${name} ${version}`)
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
