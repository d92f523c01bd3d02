//! What files call each type, where its blocks have their factors, and what its codes stand for.

use super::{BlockType, CodeValues};

/// Facts of a type.
pub(super) struct Facts {
    /// Number of the type in files.
    pub(super) id: u32,
    pub(super) name: &'static str,
    /// Number of values in a block.
    pub(super) len: usize,
    /// Number of bytes of a block.
    pub(super) bytes: usize,
    /// Places of half floats in a block.
    pub(super) factors: &'static [usize],
    pub(super) values: CodeValues,
}

/// Values of the codes of `IQ4_NL` and `IQ4_XS`.
static IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/// Twice the values of E2M1, which OCP's Microscaling specification 1.0 lists.
static E2M1_DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];
/// Values of the codes of `Q3_K`.
static Q3: [i8; 16] = [-4, -3, -2, -1, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0];
/// Signs of `Q1_0`.
static SIGNS: [i8; 16] = [-1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Values of the codes of `TQ1_0`, `TQ2_0` and `Q2_0`.
static TERNARY: [i8; 16] = [-1, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Values of grids; the upper half has them with a minus sign.
static IQ2: [i8; 16] = [8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43, 0, 0, 0, 0, 0];
static IQ3_XXS: [i8; 16] = [4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62];
static IQ3_S: [i8; 16] = [1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15];
/// Eight times the sum of -1, 0 or 1 and an eighth; in the upper half, the eighth is subtracted.
static IQ1: [i8; 16] = [-7, 1, 9, 0, 0, 0, 0, 0, -9, -1, 7, 0, 0, 0, 0, 0];

impl BlockType {
    pub(super) fn facts(self) -> Facts {
        use CodeValues::{Offset, Table};
        let of = |id, name, (len, bytes), factors, values| Facts { id, name, len, bytes, factors, values };
        match self {
            Self::Q1_0 => of(41, "Q1_0", (128, 18), &[0], Table(&SIGNS)),
            Self::Q4_0 => of(2, "Q4_0", (32, 18), &[0], Offset(8)),
            Self::Q4_1 => of(3, "Q4_1", (32, 20), &[0, 2], Offset(0)),
            Self::Q5_0 => of(6, "Q5_0", (32, 22), &[0], Offset(16)),
            Self::Q5_1 => of(7, "Q5_1", (32, 24), &[0, 2], Offset(0)),
            Self::Q8_0 => of(8, "Q8_0", (32, 34), &[0], Offset(128)),
            Self::Q2_K => of(10, "Q2_K", (256, 84), &[80, 82], Offset(0)),
            Self::Q3_K => of(11, "Q3_K", (256, 110), &[108], Table(&Q3)),
            Self::Q4_K => of(12, "Q4_K", (256, 144), &[0, 2], Offset(0)),
            Self::Q5_K => of(13, "Q5_K", (256, 176), &[0, 2], Offset(0)),
            Self::Q6_K => of(14, "Q6_K", (256, 210), &[208], Offset(32)),
            Self::IQ1_S => of(19, "IQ1_S", (256, 50), &[0], Table(&IQ1)),
            // Its factor is scattered over four bytes.
            Self::IQ1_M => of(29, "IQ1_M", (256, 56), &[], Table(&IQ1)),
            Self::IQ2_XXS => of(16, "IQ2_XXS", (256, 66), &[0], Table(&IQ2)),
            Self::IQ2_XS => of(17, "IQ2_XS", (256, 74), &[0], Table(&IQ2)),
            Self::IQ2_S => of(22, "IQ2_S", (256, 82), &[0], Table(&IQ2)),
            Self::IQ3_XXS => of(18, "IQ3_XXS", (256, 98), &[0], Table(&IQ3_XXS)),
            Self::IQ3_S => of(21, "IQ3_S", (256, 110), &[0], Table(&IQ3_S)),
            Self::IQ4_NL => of(20, "IQ4_NL", (32, 18), &[0], Table(&IQ4)),
            Self::IQ4_XS => of(23, "IQ4_XS", (256, 136), &[0], Table(&IQ4)),
            Self::TQ1_0 => of(34, "TQ1_0", (256, 54), &[52], Table(&TERNARY)),
            Self::TQ2_0 => of(35, "TQ2_0", (256, 66), &[64], Table(&TERNARY)),
            Self::Q2_0 => of(42, "Q2_0", (64, 18), &[0], Table(&TERNARY)),
            // Its factors are numbers of eight bits (E4M3).
            Self::NVFP4 => of(40, "NVFP4", (64, 36), &[], Table(&E2M1_DOUBLED)),
            // Its factor is an exponent of eight bits.
            Self::MXFP4 => of(39, "MXFP4", (32, 17), &[], Table(&E2M1_DOUBLED)),
        }
    }
}
