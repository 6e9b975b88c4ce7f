import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isAudio, secondsOf } from '../../src/features/voice/audio.ts'
import { silence } from '../fixtures/speech-server.ts'

describe('a recording', () => {
  for (const [name, type, expected] of [
    ['x', 'audio/mp4', true],
    ['x', 'Audio/ogg; codecs=opus', true],
    ['memo.m4a', 'application/octet-stream', true],
    ['memo.OGA', '', true],
    ['x', 'video/mp4', false],
    ['x.mp3', 'text/plain', false],
    ['x', 'application/octet-stream', false],
    ['x.mid', 'audio/midi', false],
  ] as const)
    test(`is ${expected ? '' : 'not '}recognised in a file "${name}" of type "${type}"`, () => {
      assert.equal(isAudio({ name, type }), expected)
    })

  test('has a known length in WAV, Ogg and MP4 only', () => {
    assert.equal(secondsOf(silence(3)), 3)
    const ogg = Buffer.alloc(100)
    ogg.write('OggS', 0, 'latin1')
    ogg.write('OggS', 60, 'latin1')
    // The position at the end of the last page: 7 s at 48 kHz.
    ogg.writeBigInt64LE(48_000n * 7n, 66)
    assert.equal(secondsOf(ogg), 7)
    const mp4 = Buffer.alloc(100)
    mp4.write('ftypM4A ', 4, 'latin1')
    mp4.write('mvhd', 40, 'latin1')
    // The time scale (units per second), and the duration in units.
    mp4.writeUInt32BE(1_000, 56)
    mp4.writeUInt32BE(12_500, 60)
    assert.equal(secondsOf(mp4), 12.5)
    assert.equal(secondsOf(Buffer.from(`ID3${'x'.repeat(100)}`)), undefined)
    assert.equal(secondsOf(Buffer.from('RIFF')), undefined)
    const incomplete = Buffer.alloc(60)
    incomplete.write('OggS', 0, 'latin1')
    incomplete.write('\u0001vorbis', 50, 'latin1')
    assert.equal(secondsOf(incomplete), undefined, 'Vorbis that ends before its sample rate')
  })
})
