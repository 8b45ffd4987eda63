"""Chinese words and sentence patterns for the ``reviews`` data set; see `rnnlab.data.lexicon_en` for how to read them.

No graded word contains 不, 没, 非 or 很: those belong to the patterns, and two rows that differ only in where those
stand are made of exactly the same characters.
"""


def _list(text: str) -> list[str]:
    return text.split()


# --- words that carry the verdict: 0 strongly negative, 1 mildly negative, 2 neutral, 3 mildly positive, 4 strongly ---
# Words that go well with 很, 不 and 非常 come first; four-character idioms, which stand alone, come last.

_GRADED = {
    "adjective0": _list("""
        糟糕 恶劣 可怕 拙劣 恶心 低劣 离谱 荒唐 可恶 丑陋 恶俗 可笑 愚蠢 垃圾 可耻 可憎 稀烂 粗劣 恐怖 卑劣 低能 反胃
        丢脸 吓人 烂透 糟透 作呕 灾难 惨烈 奇烂 奇丑 恶毒 令人作呕 令人发指 令人窒息 令人崩溃 令人愤怒 一塌糊涂 一无是处
        面目可憎 乌烟瘴气 丢人现眼 侮辱智商 烂到极点 糟蹋胶片"""),
    "adjective1": _list("""
        无聊 乏味 差 沉闷 拖沓 老套 单调 生硬 啰嗦 松散 俗气 牵强 粗糙 呆板 空洞 肤浅 凌乱 冗长 做作 枯燥 尴尬 笨拙 难看
        苍白 潦草 僵硬 刻板 敷衍 陈旧 别扭 杂乱 臃肿 混乱 寡淡 浮躁 土气 平庸 累赘 琐碎 幼稚 矫情 虎头蛇尾 拖泥带水
        千篇一律 索然无味"""),
    "adjective2": _list("""
        一般 普通 平常 寻常 中等 常规 正常 标准 凑合 平平 中庸 平凡 传统 常见 典型 大众 通俗 规矩 保守 中性 日常 合格
        够用 居中 一般般 中规中矩 平平常常 普普通通 平平淡淡 司空见惯 循规蹈矩 四平八稳 按部就班 半斤八两 大同小异"""),
    "adjective3": _list("""
        好看 有趣 好 可爱 舒服 温馨 流畅 扎实 细腻 清新 耐看 讨喜 生动 轻快 真诚 巧妙 迷人 自然 机智 幽默 风趣 明快 暖心
        用心 舒心 灵动 优雅 得体 紧凑 利落 精致 饱满 悦目 顺畅 走心 活泼 俏皮 温暖 柔和 诚恳 聪明 讨巧 亲切 像样
        有滋有味"""),
    "adjective4": _list("""
        完美 出色 惊艳 绝妙 美妙 精彩 卓越 神奇 杰出 超凡 惊人 伟大 精妙 震撼 辉煌 精湛 一流 顶级 绝美 经典 传神 神级
        璀璨 惊世 极佳 绝佳 绝伦 封神 扣人心弦 叹为观止 登峰造极 无与伦比 炉火纯青 荡气回肠 令人叫绝 美轮美奂 回味无穷
        拍案叫绝 鬼斧神工 出神入化 惊心动魄 震古烁今 动人心魄 举世无双 旷世罕见"""),
    "verb0": _list("痛恨 憎恶 唾弃 痛骂 厌恶透了 恨透了 咒骂 鄙视至极"),
    "verb1": _list("嫌弃 看腻了 抱怨 吐槽 质疑 看烦了 叹气看完 懒得回味"),
    "verb2": _list("只是看完 旁观 客观记录 照常看完 如实转述 路过看完"),
    "verb3": _list("喜欢 欣赏 认可 享受 看好 肯定 乐意推荐 笑着看完"),
    "verb4": _list("热爱 深爱 痴迷 狂赞 膜拜 爱死了 极力推崇 含泪赞美"),
    "noun0": _list("""
        灾难现场 车祸现场 一场噩梦 一堆垃圾 奇耻大辱 一场浩劫 一场骗局 人间惨剧 彻底的失败 一种折磨 一种侮辱 毒药"""),
    "noun1": _list("败笔 短板 遗憾 鸡肋 软肋 半成品 流水账 大杂烩 催眠曲 老一套 一次失手 一点缺憾"),
    "noun2": _list("常规操作 普通水平 中等水平 一般水准 标准配置 行业均值 日常水准 平常发挥 及格线 中间档"),
    "noun3": _list("亮点 惊喜 加分项 一股清流 一点甜头 一份温情 小成功 开心果 一次进步 一次享受 可取之处 长处"),
    "noun4": _list("神作 杰作 巅峰之作 传世之作 一座丰碑 一个奇迹 天才之作 影史经典 里程碑 绝世珍宝 艺术瑰宝 满分答卷"),
}

_DEGREES = {
    "amplifier": _list("非常 极其 特别 十分 极为 超级 无比 万分 异常 格外 极度 尤为 何其 实在太 简直太 真是太"),
    "downtoner": _list("有点 有些 略微 稍微 略显 稍显 比较 有一点 还算 多少有些 勉强算 微微 稍稍 算是有点 大致算 相对"),
}

# --- what the verdict is about ---

_SUBJECTS = {
    "film": _list("""
        片子 电影 影片 喜剧片 剧情片 文艺片 动作片 悬疑片 爱情片 战争片 科幻片 动画片 纪录片 歌舞片 武侠片 古装片 青春片
        犯罪片 谍战片 公路片 家庭片 历史片 传记片 校园片 警匪片"""),
    "aspect": _list("""
        剧情 故事 剧本 台词 结局 开头 叙事 设定 主线 支线 主题 笑点 节奏 高潮 情节 伏笔 悬念 反转 人物 旁白 对白 独白
        结尾 序幕 尾声 感情线 前半段 后半段 世界观 片头 插叙 倒叙 立意 冲突 铺垫 改编 桥段 转折 婚礼戏 法庭戏"""),
    "craft": _list("""
        演技 导演 摄影 剪辑 配乐 音效 灯光 选角 服装 化妆 道具 布景 美术 特效 动画 歌曲 舞蹈 配音 主演 配角 群戏 画面
        色调 构图 镜头 主题曲 插曲 武打 特技 场景 造型 字幕 翻译 唱段 钢琴曲 合唱 混音 调色 置景 运镜"""),
    "thing": _list("""
        爆米花 咖啡 柠檬水 冰淇淋 停车场 大厅 座椅 空调 预告片 海报 热狗 披萨 公交车 出租车 地毯 楼梯 酒吧 餐厅 天气
        洗手间 三明治 巧克力 啤酒 红酒 奶茶 晚饭 电梯 存包处 购票软件 网站 另一部电影 上一部电影 隔壁的电影 电视剧
        原著小说 广播剧 电子游戏 香水 回家的路 酒店 火车 地铁 暖气 汽水 糖果 停车位 交通 自助餐 蛋糕 橙汁 小卖部
        纪念品店 杂志 传单 墙纸 天花板 保安 检票员 服务员 街区 汤面 沙拉 火锅 展览 讲座 球赛 音乐会 野餐 烤串
        饺子 米线"""),
    "property": _list("""
        长 短 新 老 旧 静 安静 写实 古典 现代 冷门 热门 抽象 小众 复古 年轻 本土 西化 生活化 口语化 数字化 国际化 市井
        乡土 商业 文艺 魔幻 写意 民族风 北欧风 纪实"""),
}

# --- everything else: who, when, where, and small talk ---

_SCENERY = {
    "name": _list("""
        张伟 王芳 李静 刘洋 陈敏 杨帆 赵磊 黄丽 周强 吴敏 徐浩 孙莉 马跃 朱琳 胡斌 郭峰 林晓 何平 高翔 罗琪 郑凯 梁宇
        谢婷 宋倩 唐宁 许诺 韩冰 冯远 邓宏 曹莹 彭博 曾毅 肖琴 田雨 董欣 袁荃 潘越 于涛 蒋楠 蔡芸 余波 杜河 叶青 程亮
        苏桐 魏辰 吕良 丁宁 任远 沈洁 姚远 卢刚 姜瑜 崔明 钟诚 谭松 陆杰 汪洋 范磊 金辰 石磊 廖辉 贾宁 夏雨 韦佳 付晶
        方舒 白羽 邹楷 孟涛 熊威 秦立 邱林 江岸 尹航 薛凯 阎敏 段宇 雷琦 侯杰 龙飞 史岩 陶云 黎昕 贺军 顾盼 毛毅 郝刚
        龚琳 邵斌 万力 钱枫 严骏 覃勇 武晋 戴钧 莫兰 孔琳 向阳 汤敏 小明 小红 老周 老吴 阿强 阿珍 小林 大刘 小赵 老郑
        小何 小陶 老魏 阿芳 阿海"""),
    "place": _list("""
        北京 上海 广州 深圳 天津 重庆 成都 杭州 武汉 西安 南京 苏州 长沙 青岛 大连 厦门 宁波 郑州 济南 合肥 福州 昆明
        贵阳 南宁 海口 兰州 西宁 银川 太原 沈阳 哈尔滨 长春 石家庄 南昌 无锡 常州 扬州 绍兴 温州 泉州 珠海 佛山 东莞
        桂林 丽江 大理 拉萨 香港 澳门 台北 东京 大阪 首尔 曼谷 巴黎 伦敦 柏林 罗马 纽约 悉尼 开罗 莫斯科 维也纳 里斯本
        奥斯陆"""),
    "venue": _list("""
        影院 电影节 影迷会 放映厅 图书馆 大礼堂 文化宫 博物馆 露天广场 老剧院 学校 资料馆 俱乐部 社区中心 小剧场 美术馆
        书店 茶馆 艺术中心 汽车影院"""),
    "when": _list("""
        上周一 上周二 上周三 上周四 上周五 上周六 上周日 一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 年底 年初
        昨天 前天 今天早上 今天下午 今晚 两周前 三天前 生日那天 下雨那天 除夕夜 国庆假期 春节期间 中秋那晚 午夜场
        下班以后 午饭以后 考试以后 搬家那天 出发前一晚 半个月前 大学时期"""),
    "relation": _list("""
        姐姐 哥哥 妹妹 弟弟 姑姑 叔叔 舅舅 表弟 邻居 室友 老板 牙医 老师 奶奶 爷爷 外公 侄子 外甥女 房东 同事 学生 护士
        水管工 司机 图书管理员 退休船员 邮递员 小提琴手 店主 工程师 会计 理发师 面包师 园丁 放映员 前台 游客 骑手 律师
        同桌"""),
    "topic": _list("""
        两兄弟 三姐妹 守塔人 棋手 夜班护士 火车司机 一封信 银行职员 乡村学校 渔船 乐队 马戏团 养蜂人 小旅馆 登山向导
        海岛 裁缝 调音师 面包房 拳击馆 飞船 流浪狗 报社 翻译家 钟表匠 沙漠小镇 渡口 官司 老房子 牌局 婚礼 极地 足球队
        厨师 侦探 大提琴手 农场 机器人 税务员 出租屋"""),
    "object": _list("""
        雨伞 笔记本 自行车 行李箱 报纸 相机 帽子 围巾 车票 地图 钥匙 手机 吉他 茶壶 台灯 外套 背包 钱包 明信片 收音机
        篮子 水壶 包裹 手套 靴子 琴盒 雨衣 日历 铅笔 眼镜"""),
    "opening": [
        "{when}",
        "{when}在{place}",
        "在{place}的{venue}",
        "{name}说",
        "听{relation}讲",
        "据{name}介绍",
        "在去{place}的路上",
        "在{venue}看完后",
        "和{relation}看完后",
        "在{place}重看一遍",
    ],
    "remark": [
        "{name}这样说",
        "{relation}这么讲",
        "这是我的看法",
        "我们在{place}都这么看",
        "{name}和{relation}都同意",
        "{when}大家都这么说",
    ],
    "lead": ["", "", "", "{opening}，"],
    "tail": ["", "", "", "", "，{remark}"],
    "stop": ["。", "。", "。", "。", "！"],
    "comma": ["，", "，", "；"],
    "small-talk": [
        "{place}下着小雨",
        "去{place}的车晚点了",
        "{name}在找{object}",
        "{name}买了一份{object}",
        "{relation}在看{place}的新闻",
        "我们聊到了{topic}",
        "{name}数着桌上的硬币",
        "大厅的灯亮着",
        "{relation}点了两杯茶",
        "一辆车停在街角",
        "大家在穿外套",
        "{name}给{relation}指路",
        "椅子下有一个{object}",
        "{venue}门口排着队",
        "墙上的钟指着九点半",
        "{name}给{relation}写信",
        "有人在扫{venue}的地",
        "我们走过{venue}",
        "{relation}问{name}几点了",
        "小狗趴在{object}旁边",
        "{name}在打电话",
        "广播在报{place}的天气",
        "两个孩子抬着{object}",
        "{relation}把车停在{venue}",
    ],
}

# --- sentence patterns, one group a phenomenon; the rules are in reviews.py ---

_PLAIN = {
    "plain": [
        "{lead}我觉得{aspect}{word}{tail}{stop}",
        "{lead}{craft}可以说{word}{tail}{stop}",
        "{lead}这部{film}让人觉得{word}{tail}{stop}",
        "{lead}这部{film}的{aspect}{word}{tail}{stop}",
        "{lead}这是一部{word}的{film}{tail}{stop}",
        "{lead}讲{topic}的{film}拍得{word}{tail}{stop}",
        "{lead}{relation}认为{craft}{word}{stop}",
        "{lead}{name}用{word}来形容{aspect}{stop}",
        "{lead}整部{film}的{craft}都{word}{tail}{stop}",
        "{lead}{word}的{aspect}占了大半{tail}{stop}",
        "{lead}看到的是{word}的{craft}{tail}{stop}",
        "{lead}{relation}{verb}这段{aspect}{stop}",
        "{lead}{name}{verb}这部{film}{stop}",
        "{lead}{aspect}是{noun}{tail}{stop}",
        "{lead}这部讲{topic}的{film}是{noun}{tail}{stop}",
        "{lead}{name}说{craft}是{noun}{stop}",
    ],
}

_INTENSITY = {
    "intensity": [
        "{lead}{aspect}{degree}{word}{tail}{stop}",
        "{lead}{craft}{degree}{word}{tail}{stop}",
        "{lead}这部{film}{degree}{word}{tail}{stop}",
        "{lead}我觉得{craft}{degree}{word}{tail}{stop}",
        "{lead}{relation}认为{aspect}{degree}{word}{stop}",
        "{lead}{name}说这部{film}{degree}{word}{stop}",
        "{lead}讲{topic}的{film}{degree}{word}{tail}{stop}",
        "{lead}{name}和{relation}都说{craft}{degree}{word}{stop}",
    ],
}

_NEGATION = {
    # What both clauses say when affirmed and when denied.
    "assertion": ["很", "很", "挺", "确实", "的确", "算", "算得上", "称得上"],
    "denial": ["不", "并不", "不", "并不", "并不", "不算", "算不上", "称不上"],
    "negation-clause": [
        "{lead}这部{film}{film-is}{property}{comma}{aspect}{word-is}{word}{tail}{stop}",
        "{lead}{aspect}{word-is}{word}{comma}这部{film}{film-is}{property}{tail}{stop}",
        "{lead}{film}{film-is}{property}，而且{craft}{word-is}{word}{tail}{stop}",
        "{lead}{craft}{word-is}{word}，而且{film}{film-is}{property}{tail}{stop}",
        "{lead}我觉得{film}{film-is}{property}，{craft}{word-is}{word}{stop}",
        "{lead}我觉得{craft}{word-is}{word}，{film}{film-is}{property}{stop}",
    ],
    "negation-choice": [
        "{lead}{aspect}不是{denied}，而是{asserted}{tail}{stop}",
        "{lead}{aspect}是{asserted}，而不是{denied}{tail}{stop}",
        "{lead}{craft}给人的感觉不是{denied}，而是{asserted}{tail}{stop}",
        "{lead}{craft}给人的感觉是{asserted}，而不是{denied}{tail}{stop}",
        "{lead}这部讲{topic}的{film}不是{denied}，而是{asserted}{stop}",
        "{lead}这部讲{topic}的{film}是{asserted}，而不是{denied}{stop}",
    ],
}

_DOUBLE_NEGATION = {
    "claim-assertion": ["很", "确实", "算", "算得上"],
    "claim-denial": ["不", "并不", "不算", "算不上"],
    "fair": ["准确", "客观", "公道", "合理"],
    "double-negation-claim": [
        "{lead}{film}{film-is}{property}，说{aspect}{word-is}{word}{claim-is}{fair}{stop}",
        "{lead}说{craft}{word-is}{word}{claim-is}{fair}，{film}{film-is}{property}{stop}",
        "{lead}这部{film}{film-is}{property}，说{craft}{word-is}{word}{claim-is}{fair}{stop}",
        "{lead}说{aspect}{word-is}{word}{claim-is}{fair}，这部{film}{film-is}{property}{stop}",
    ],
    "second-denial": ["并非", "绝非", "不能说", "谈不上"],
    "double-negation-stack": [
        "{lead}这部{film}{on-film}很{property}{comma}{aspect}{on-word}不{word}{tail}{stop}",
        "{lead}{aspect}{on-word}不{word}{comma}这部{film}{on-film}很{property}{tail}{stop}",
        "{lead}{film}{on-film}很{property}，而且{craft}{on-word}不{word}{tail}{stop}",
        "{lead}{craft}{on-word}不{word}，而且{film}{on-film}很{property}{tail}{stop}",
    ],
}

_CONTRAST = {
    "but": ["但", "但是", "不过", "可是", "然而"],
    "although": ["虽然", "尽管", "虽说", "即使", "哪怕"],
    # The deciding word comes last …
    "contrast-late": [
        "{lead}{aspect}{side}，{but}{craft}{main}{tail}{stop}",
        "{lead}{craft}很{side}，{but}{aspect}很{main}{tail}{stop}",
        "{side}的{craft}，{but}有{main}的{aspect}{tail}{stop}",
        "{lead}{although}{aspect}{side}，{craft}{main}{tail}{stop}",
        "{lead}{although}{craft}很{side}，{aspect}很{main}{tail}{stop}",
        "{lead}{although}有{side}的{aspect}，{film}{main}{tail}{stop}",
    ],
    # … or first, just as often.
    "contrast-early": [
        "{lead}{aspect}{main}，{although}{craft}{side}{tail}{stop}",
        "{lead}{craft}很{main}，{although}{aspect}很{side}{tail}{stop}",
        "{main}的{craft}，{although}有{side}的{aspect}{tail}{stop}",
        "{lead}{craft}{main}，{although}{aspect}{side}{tail}{stop}",
        "{lead}{aspect}很{main}，{although}{craft}很{side}{tail}{stop}",
        "{lead}{film}{main}，{although}有{side}的{aspect}{tail}{stop}",
    ],
}

_IRRELEVANT = {
    # The film's word comes first in one half of the patterns and second in the other.
    "irrelevant-pair": [
        "{lead}这部{film}很{verdict}，{thing}很{aside}{tail}{stop}",
        "{lead}{thing}很{aside}，这部{film}很{verdict}{tail}{stop}",
        "{lead}这部{film}{verdict}，{venue}的{thing}{aside}{tail}{stop}",
        "{lead}{venue}的{thing}{aside}，这部{film}{verdict}{tail}{stop}",
        "{lead}我们聊了{verdict}的{film}和{aside}的{thing}{tail}{stop}",
        "{lead}我们聊了{aside}的{thing}和{verdict}的{film}{tail}{stop}",
        "{lead}看完{verdict}的{film}，{name}想起{aside}的{thing}{stop}",
        "{lead}想起{aside}的{thing}，{name}看完{verdict}的{film}{stop}",
        "{lead}{relation}说这部{film}{verdict}，{thing}{aside}{stop}",
        "{lead}{relation}说{thing}{aside}，这部{film}{verdict}{stop}",
        "{lead}比起{verdict}的{film}，{thing}很{aside}{stop}",
        "{lead}比起{aside}的{thing}，{film}很{verdict}{stop}",
    ],
    # First, second and third place in one third of the patterns each.
    "irrelevant-three": [
        "{lead}这部{film}很{verdict}，{thing}很{aside}，{thing}很{other}{stop}",
        "{lead}{thing}很{aside}，这部{film}很{verdict}，{thing}很{other}{stop}",
        "{lead}{thing}很{aside}，{thing}很{other}，这部{film}很{verdict}{stop}",
        "{lead}我们聊了{verdict}的{film}、{aside}的{thing}和{other}的{thing}{stop}",
        "{lead}我们聊了{aside}的{thing}、{verdict}的{film}和{other}的{thing}{stop}",
        "{lead}我们聊了{aside}的{thing}、{other}的{thing}和{verdict}的{film}{stop}",
        "{lead}{name}说{film}{verdict}，{thing}{aside}，{thing}{other}{stop}",
        "{lead}{name}说{thing}{aside}，{film}{verdict}，{thing}{other}{stop}",
        "{lead}{name}说{thing}{aside}，{thing}{other}，{film}{verdict}{stop}",
    ],
}

_LONG_RANGE = {
    "which-first": ["最先", "开头", "前面"],
    "which-last": ["最后", "末尾", "后面"],
    "cue": [
        "只有{which}那句评语算数",
        "我只信{which}那位的话",
        "请以{which}那句为准",
        "{name}站在{which}那位一边",
        "我们同意{which}那位观众",
        "{which}那句才是我的看法",
        "{relation}和我只认{which}那句",
        "{which}那位说出了我的心声",
    ],
    # At least four characters on either side of the verdict, the same characters both times.
    "before": [
        "后排有位观众说它",
        "门口有个人说它",
        "大厅里有人觉得它",
        "第六排有人觉得它",
        "楼梯上有人说它",
        "靠窗的女士觉得它",
        "有位拿{object}的人说它",
        "长椅上有人说{film}",
        "排队时有人觉得{film}",
        "身后有个声音说它",
    ],
    "after": [
        "，说完就走开了",
        "，随后看向窗外",
        "，接着低头走路",
        "，然后收起手机",
        "，说完叠起报纸",
        "，随后下楼去了",
        "，接着喝了口水",
        "，然后戴上帽子",
    ],
    "gap": ["", "{small-talk}，", "{small-talk}，{small-talk}，"],
    "long-range": [
        "{cue}：{before}{one}{after}，{gap}{before}{two}{after}{stop}",
        "{cue}：{gap}{before}{one}{after}，{before}{two}{after}{stop}",
        "{cue}：{before}{one}{after}，{gap}后来{before}{two}{after}{stop}",
    ],
}

GRAMMAR: dict[str, list[str]] = {
    **_GRADED,
    **_DEGREES,
    **_SUBJECTS,
    **_SCENERY,
    **_PLAIN,
    **_INTENSITY,
    **_NEGATION,
    **_DOUBLE_NEGATION,
    **_CONTRAST,
    **_IRRELEVANT,
    **_LONG_RANGE,
}
