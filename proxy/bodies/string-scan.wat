;; Finds the end of a JSON string, 64 bytes at a time (WebAssembly SIMD). Assembled into string-scan-bytes.ts by
;; `node bin/assemble.js`.
;;
;; scan(i, end): the string's text lies in memory from i on; end is exclusive.
;;   r >= 0   the offset just after the closing quote
;;   r == -1  a control character or a malformed escape: the caller finds out which and where
;;   r <= -2  nothing odd up to -r - 2, where the text ends, or an escape that may go on behind `end`
;;
;; Which characters are escaped is found without a branch per escape, as in simdjson (Langdale and Lemire, "Parsing
;; gigabytes of JSON per second", VLDB Journal 28, 2019): code has an escape every few bytes.
(module
  (memory (export "memory") 5)
  (func (export "scan") (param $i i32) (param $end i32) (result i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $quotes i64) (local $slashes i64) (local $controls i64)
    (local $carry i64)    ;; 1: the first byte of the block is escaped by the last one of the block before
    (local $carried i64)  ;; the same for the block in hand
    (local $code i64) (local $escaped i64) (local $ends i64) (local $before i64)
    (local $until i32) (local $byte i32) (local $k i32)
    (loop $blocks
      (block $careful
        (loop $block
          (local.set $until (i32.const -1))
          (if (i32.gt_u (i32.add (local.get $i) (i32.const 64)) (local.get $end))
            (then
              (local.set $i (i32.sub (local.get $i) (i32.wrap_i64 (local.get $carry))))
              (br $careful)))
          (local.set $a (v128.load (local.get $i)))
          (local.set $b (v128.load offset=16 (local.get $i)))
          (local.set $c (v128.load offset=32 (local.get $i)))
          (local.set $d (v128.load offset=48 (local.get $i)))
          (local.set $quotes (i64.or
            (i64.or (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $a) (i8x16.splat (i32.const 34))))) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $b) (i8x16.splat (i32.const 34))))) (i64.const 16)))
            (i64.or (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $c) (i8x16.splat (i32.const 34))))) (i64.const 32)) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $d) (i8x16.splat (i32.const 34))))) (i64.const 48)))))
          (local.set $slashes (i64.or
            (i64.or (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $a) (i8x16.splat (i32.const 92))))) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $b) (i8x16.splat (i32.const 92))))) (i64.const 16)))
            (i64.or (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $c) (i8x16.splat (i32.const 92))))) (i64.const 32)) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $d) (i8x16.splat (i32.const 92))))) (i64.const 48)))))
          (local.set $controls (i64.or
            (i64.or (i64.extend_i32_u (i8x16.bitmask (i8x16.lt_u (local.get $a) (i8x16.splat (i32.const 32))))) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.lt_u (local.get $b) (i8x16.splat (i32.const 32))))) (i64.const 16)))
            (i64.or (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.lt_u (local.get $c) (i8x16.splat (i32.const 32))))) (i64.const 32)) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.lt_u (local.get $d) (i8x16.splat (i32.const 32))))) (i64.const 48)))))
          (if (i64.eqz (i64.or (i64.or (local.get $quotes) (local.get $slashes)) (i64.or (local.get $controls) (local.get $carry))))
            (then
              (local.set $i (i32.add (local.get $i) (i32.const 64)))
              (br $block)))
          ;; a backslash that is not escaped itself escapes the byte after it
          (local.set $carried (local.get $carry))
          (local.set $code (i64.and (local.get $slashes) (i64.xor (local.get $carry) (i64.const -1))))
          (local.set $code
            (i64.xor
              (i64.sub
                (i64.or (i64.shl (local.get $code) (i64.const 1)) (i64.const 0xaaaaaaaaaaaaaaaa))
                (local.get $code))
              (i64.const 0xaaaaaaaaaaaaaaaa)))
          (local.set $escaped (i64.xor (local.get $code) (i64.or (local.get $slashes) (local.get $carry))))
          (local.set $carry (i64.shr_u (i64.and (local.get $code) (local.get $slashes)) (i64.const 63)))
          (local.set $ends (i64.and (local.get $quotes) (i64.xor (local.get $escaped) (i64.const -1))))
          ;; all bits before the closing quote; all 64 when there is none
          (local.set $before
            (i64.sub (i64.and (local.get $ends) (i64.sub (i64.const 0) (local.get $ends))) (i64.const 1)))
          (local.set $escaped (i64.and (local.get $escaped) (local.get $before)))
          (if (i64.ne (i64.and (local.get $controls) (local.get $before)) (i64.const 0))
            (then (return (i32.const -1))))
          (if (i64.ne (local.get $escaped) (i64.const 0))
            (then
              ;; " \ / b f n r t u, by their half bytes
              (if (i64.ne
                    (i64.and
                      (local.get $escaped)
                      (i64.xor (i64.const -1) (i64.or
            (i64.or (i64.extend_i32_u (i8x16.bitmask (i8x16.ne (v128.and (i8x16.swizzle (v128.const i8x16 0 0 13 0 8 8 4 0 0 0 0 0 2 0 4 1) (v128.and (local.get $a) (i8x16.splat (i32.const 15)))) (i8x16.swizzle (v128.const i8x16 0 0 1 0 0 2 4 8 0 0 0 0 0 0 0 0) (i8x16.shr_u (local.get $a) (i32.const 4)))) (v128.const i64x2 0 0)))) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.ne (v128.and (i8x16.swizzle (v128.const i8x16 0 0 13 0 8 8 4 0 0 0 0 0 2 0 4 1) (v128.and (local.get $b) (i8x16.splat (i32.const 15)))) (i8x16.swizzle (v128.const i8x16 0 0 1 0 0 2 4 8 0 0 0 0 0 0 0 0) (i8x16.shr_u (local.get $b) (i32.const 4)))) (v128.const i64x2 0 0)))) (i64.const 16)))
            (i64.or (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.ne (v128.and (i8x16.swizzle (v128.const i8x16 0 0 13 0 8 8 4 0 0 0 0 0 2 0 4 1) (v128.and (local.get $c) (i8x16.splat (i32.const 15)))) (i8x16.swizzle (v128.const i8x16 0 0 1 0 0 2 4 8 0 0 0 0 0 0 0 0) (i8x16.shr_u (local.get $c) (i32.const 4)))) (v128.const i64x2 0 0)))) (i64.const 32)) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.ne (v128.and (i8x16.swizzle (v128.const i8x16 0 0 13 0 8 8 4 0 0 0 0 0 2 0 4 1) (v128.and (local.get $d) (i8x16.splat (i32.const 15)))) (i8x16.swizzle (v128.const i8x16 0 0 1 0 0 2 4 8 0 0 0 0 0 0 0 0) (i8x16.shr_u (local.get $d) (i32.const 4)))) (v128.const i64x2 0 0)))) (i64.const 48))))))
                    (i64.const 0))
                (then (return (i32.const -1))))
              (if (i64.ne (i64.and (local.get $escaped) (i64.or
            (i64.or (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $a) (i8x16.splat (i32.const 117))))) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $b) (i8x16.splat (i32.const 117))))) (i64.const 16)))
            (i64.or (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $c) (i8x16.splat (i32.const 117))))) (i64.const 32)) (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $d) (i8x16.splat (i32.const 117))))) (i64.const 48))))) (i64.const 0))
                (then ;; the digits of \u are looked at one by one
                  (local.set $until (i32.add (local.get $i) (i32.const 64)))
                  (local.set $i (i32.sub (local.get $i) (i32.wrap_i64 (local.get $carried))))
                  (br $careful)))))
          (if (i64.ne (local.get $ends) (i64.const 0))
            (then
              (return
                (i32.add (i32.add (local.get $i) (i32.const 1)) (i32.wrap_i64 (i64.ctz (local.get $ends)))))))
          (local.set $i (i32.add (local.get $i) (i32.const 64)))
          (br $block)))
      ;; byte by byte: the last bytes, and blocks with \u
      (local.set $carry (i64.const 0))
      (loop $bytes
        (br_if $blocks (i32.ge_u (local.get $i) (local.get $until)))
        (if (i32.ge_u (local.get $i) (local.get $end))
          (then (return (i32.sub (i32.const -2) (local.get $i)))))
        (local.set $byte (i32.load8_u (local.get $i)))
        (if (i32.eq (local.get $byte) (i32.const 34))
          (then (return (i32.add (local.get $i) (i32.const 1)))))
        (if (i32.lt_u (local.get $byte) (i32.const 32)) (then (return (i32.const -1))))
        (if (i32.ne (local.get $byte) (i32.const 92))
          (then
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $bytes)))
        ;; an escape: at most 6 bytes
        (if (i32.gt_u (i32.add (local.get $i) (i32.const 6)) (local.get $end))
          (then (return (i32.sub (i32.const -2) (local.get $i)))))
        (local.set $byte (i32.load8_u offset=1 (local.get $i)))
        (if (i32.eq (local.get $byte) (i32.const 117)) ;; u
          (then
            (local.set $k (i32.const 2))
            (loop $hex
              (local.set $byte (i32.load8_u (i32.add (local.get $i) (local.get $k))))
              (if (i32.gt_u (i32.sub (local.get $byte) (i32.const 48)) (i32.const 9))
                (then
                  (if (i32.gt_u
                        (i32.sub (i32.or (local.get $byte) (i32.const 32)) (i32.const 97))
                        (i32.const 5))
                    (then (return (i32.const -1))))))
              (local.set $k (i32.add (local.get $k) (i32.const 1)))
              (br_if $hex (i32.lt_u (local.get $k) (i32.const 6))))
            (local.set $i (i32.add (local.get $i) (i32.const 6)))
            (br $bytes)))
        ;; " \ / b f n r t
        (if (i32.eqz
              (i32.or
                (i32.or
                  (i32.or (i32.eq (local.get $byte) (i32.const 110)) (i32.eq (local.get $byte) (i32.const 34)))
                  (i32.or (i32.eq (local.get $byte) (i32.const 92)) (i32.eq (local.get $byte) (i32.const 116))))
                (i32.or
                  (i32.or (i32.eq (local.get $byte) (i32.const 47)) (i32.eq (local.get $byte) (i32.const 98)))
                  (i32.or (i32.eq (local.get $byte) (i32.const 102)) (i32.eq (local.get $byte) (i32.const 114))))))
          (then (return (i32.const -1))))
        (local.set $i (i32.add (local.get $i) (i32.const 2)))
        (br $bytes)))
    (unreachable)))
